//! The softirq tiers: network protocol processing runs below beats and above ordinary threads.
//!
//! The kernel processes a packet that has come after an interrupt, on top of any running
//! thread, unless it is told to do it in threads. It does so with bottom halves off for a whole
//! batch, so that even a beat waits until the batch is done. So while beats are loaded, devices
//! that can process in threads do, and batches are small. (HiTactix, section 2.3: three levels
//! of asynchronous work.)
//!
//! A record holds the previous values before they are changed, so that a takt that dies
//! half-way leaves enough to restore them. Only values that are still as takt set them are
//! restored.
//!
//! [`plan`] decides, [`host`] reads and writes, [`threads`] finds out what this kernel can do.

mod host;
mod plan;
mod threads;

use serde::{Deserialize, Serialize};
use takt_policy::Beats;

use crate::{
    error::Error,
    os::namespace,
    state::{runtime_dir, store::Store},
};
use host::Host;
use plan::{Knob, Setting};

pub(crate) use threads::examine;
pub use threads::{Backlog, DeviceThreads, DeviceVerdict, NetworkThreads};

/// The record's name.
const NAME: &str = "network-level";

/// What is changed, and the previous values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The number of the network namespace of the devices.
    namespace: u64,
    settings: Vec<Setting>,
}

/// What network processing is set to while beats are loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SoftirqTiers {
    /// Devices that takt has process in threads.
    pub threaded: Vec<String>,
    /// Packets handled at once, if takt bounds that. It may be bounded already, or takt cannot
    /// set it.
    pub batch_packets: Option<u32>,
}

/// Put network processing into the tier that `beats` asks for. What an earlier call set and
/// this one does not want is restored. Devices are those of this thread's network namespace.
/// Needs the lock.
pub(crate) fn set(beats: &Beats) -> Result<(), Error> {
    set_to(Some(beats))
}

/// Restore the previous values. Needs the lock. Call it before the scheduler is removed: the
/// record is kept only as long as the scheduler.
pub(crate) fn restore() -> Result<(), Error> {
    set_to(None)
}

/// Make the record usable for [`restore`].
pub(crate) fn salvage() -> Result<(), Error> {
    store().salvage(NAME).map(drop)
}

/// `None` if nothing is set.
pub(crate) fn softirq_tiers() -> Result<Option<SoftirqTiers>, Error> {
    Ok(store().read(NAME)?.map(|record| SoftirqTiers {
        threaded: record
            .settings
            .iter()
            .filter_map(|setting| match &setting.knob {
                Knob::Threaded { name, .. } => Some(name.clone()),
                Knob::Sysctl(_) => None,
            })
            .collect(),
        batch_packets: record
            .settings
            .iter()
            .find(|setting| setting.knob == Knob::Sysctl(plan::BATCH_SYSCTLS[0].to_owned()))
            .map(|setting| setting.set),
    }))
}

fn set_to(beats: Option<&Beats>) -> Result<(), Error> {
    let last = store().read(NAME)?;
    let host = Host::open();
    let next = match (beats, namespace::own()) {
        (Some(beats), Ok(namespace)) => Some(Record {
            namespace,
            settings: plan::plan(
                beats,
                &host.find(),
                last.as_ref()
                    .filter(|last| last.namespace == namespace)
                    .map_or(&[], |last| &last.settings),
            ),
        }),
        _ => None,
    };
    let kept = |setting: &Setting| {
        next.as_ref()
            .is_some_and(|next| next.settings.contains(setting))
    };
    // While the record with the previous values is in force.
    if let Some(last) = &last {
        let there = Host::of(last.namespace);
        for setting in last.settings.iter().filter(|setting| !kept(setting)) {
            there.change(&setting.knob, setting.set, setting.before)?;
        }
    }
    let Some(mut next) = next.filter(|next| !next.settings.is_empty()) else {
        return store().discard(NAME);
    };
    store().write(NAME, &next)?;
    let mut refused = Vec::new();
    for setting in &next.settings {
        if !host.change(&setting.knob, setting.before, setting.set)? {
            refused.push(setting.clone());
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    next.settings.retain(|setting| !refused.contains(setting));
    if next.settings.is_empty() {
        store().discard(NAME)
    } else {
        store().write(NAME, &next)
    }
}

/// Beside the directories of other records.
fn store() -> Store<Record> {
    Store::at(runtime_dir::DIR)
}

//! Handing over to this takt from another version whose maps it cannot read, while a policy is
//! in force.
//!
//! Everything that can be refused comes first: the policy is decided, and the programs that it
//! needs are loaded on trial. Until then nothing is changed. Then each part makes its ordinary
//! transaction as if nothing were loaded, and the object that it loads takes the name and the pins
//! of the one before ([`crate::bpf::pinned::Object::retire`]). Qdiscs go on without both until the
//! transaction replaces them on their devices, and the scheduler goes when the next one is ready.
//!
//! From the first such step on there is no way back to the version before. If a step fails, all is
//! taken back, as by `takt revert`. A takt that is killed leaves the records of the links, by which
//! the next `apply` or `revert` knows the devices ([`crate::link::outdated`]).

use super::{
    Applied,
    revert::revert_all,
    upgrade::{clear, is_of_another_version},
};
use crate::{
    beats::{BeatsAction, BeatsRecord, Scheduler},
    bpf::{
        BpfError,
        pinned::{BEATS, CROWD, LINKS, Replacing, SOCKETS},
    },
    crowd::{self, Crowd, CrowdAction},
    error::Error,
    link::{outdated, program::Program, sockets::Sockets},
    os::namespace::{living, netns_cookie},
    part::Ending,
    stock,
};

/// Objects of another layout, until this takt's are in their place.
#[derive(Debug)]
pub(crate) struct Handover {
    beats: bool,
    crowd: bool,
    replacing: Replacing,
}

impl Handover {
    /// `None`: whatever is loaded is laid out as this takt has it. Refused if other network
    /// namespaces use what is not. Needs the lock.
    pub fn begin() -> Result<Option<Self>, Error> {
        let links = is_of_another_version(Program::open())?;
        let sockets = is_of_another_version(Sockets::open())?;
        let beats = is_of_another_version(Scheduler::open())?;
        let crowd = is_of_another_version(Crowd::open())?;
        if !(links || sockets || beats || crowd) {
            return Ok(None);
        }
        let netns_cookie = netns_cookie()?;
        if links || sockets {
            refuse_links_elsewhere(netns_cookie, sockets)?;
        }
        if beats {
            refuse_beats_elsewhere(netns_cookie)?;
        }
        if crowd && crowd::is_elsewhere(netns_cookie) {
            return Err(elsewhere("congestion windows", Vec::new()));
        }
        Ok(Some(Self {
            beats,
            crowd,
            replacing: Replacing::begin(),
        }))
    }

    /// Say what is handed over.
    pub fn note(&self, applied: &mut Applied) {
        applied.handed_over = true;
        if self.beats {
            applied.beats.get_or_insert(BeatsAction::Unloaded);
        }
        if self.crowd {
            applied.crowd.get_or_insert(CrowdAction::Left);
        }
    }

    /// The transaction is over: remove what the policy does not need of the version before.
    pub fn end(self, done: Result<(), Error>) -> Result<(), Error> {
        let done = done.and_then(|()| {
            // What is of another version counts as not loaded, and is pinned all the same.
            if BEATS.is_pinned()? && Scheduler::open()?.is_none() {
                Scheduler::unload()?;
            }
            if LINKS.is_pinned()? && Program::open()?.is_none() {
                LINKS.retire()?;
            }
            if SOCKETS.is_pinned()? && Sockets::open()?.is_none() {
                SOCKETS.retire()?;
            }
            if CROWD.is_pinned()? && Crowd::open()?.is_none() {
                CROWD.retire()?;
            }
            Ok(())
        });
        drop(self.replacing);
        done.map_err(|source| {
            let error = Error::from(BpfError::NotHandedOver { source });
            error.after(take_back().err())
        })
    }
}

/// Everything of this namespace, and what other versions have loaded.
fn take_back() -> Result<(), Error> {
    clear()?;
    revert_all(Ending::All).map(drop)
}

fn refuse_links_elsewhere(netns_cookie: u64, sockets: bool) -> Result<(), Error> {
    let devices = outdated::elsewhere(netns_cookie)?;
    let living = living();
    let is_other = |cookie: &u64| *cookie != netns_cookie && living.contains(cookie);
    let is_watched = sockets && stock::watched()?.iter().any(is_other);
    if devices.is_empty() && !is_watched {
        Ok(())
    } else {
        Err(elsewhere("links", devices))
    }
}

fn refuse_beats_elsewhere(netns_cookie: u64) -> Result<(), Error> {
    let record = BeatsRecord::newest()?.filter(|record| record.roster.is_elsewhere(netns_cookie));
    let policy = record.and_then(|record| record.roster.source);
    match policy {
        Some(source) => Err(elsewhere("tasks", vec![source.name])),
        None => Ok(()),
    }
}

fn elsewhere(what: &'static str, names: Vec<String>) -> Error {
    BpfError::OtherVersionElsewhere { what, names }.into()
}

//! What another version of takt left, or a damaged disk: `takt revert` works all the same.

use super::{
    pending,
    revert::{self, Undone},
    session::Session,
};
use crate::{
    autorate::LineRates,
    beats::{BeatsAction, BeatsRecord, Scheduler, kernel_threads, softirq},
    bpf::{BpfError, pinned},
    crowd::{self, Crowd, CrowdAction},
    download,
    error::Error,
    link::{
        self, Reverted,
        outdated::{self, GivenBack},
        program::Program,
        sockets::Sockets,
    },
    os::{capability, namespace::netns_cookie},
    part::{Ending, followed::salvage},
    radio::Weights,
    segments, stock,
};

/// What could not be taken back in the ordinary way.
#[derive(Default)]
pub(super) struct Cleared {
    links: GivenBack,
    beats: bool,
    crowd: bool,
}

/// Give every device of this namespace back as it was found, and its policy's threads to the
/// kernel's own scheduler. What other programs changed meanwhile is left alone and reported.
/// Refused while a policy waits to be confirmed.
///
/// Objects of another version of takt are removed, with what depends on them: the scheduler and
/// the congestion control for the whole host, the links of other namespaces there.
pub fn revert(beats: Ending) -> Result<Undone, Error> {
    capability::require()?;
    let session = Session::begin()?;
    let cleared = match clear() {
        Ok(cleared) => cleared,
        Err(error) => {
            // The first error is the one to report.
            let _ = session.end();
            return Err(error);
        }
    };
    drop(session);
    let mut undone = match revert::revert(beats) {
        Err(error) if BpfError::is_other_version(&error) && cleared.links.others_stay => {
            return Err(BpfError::OtherVersionElsewhere {
                what: "links",
                names: outdated::elsewhere(netns_cookie()?)?,
            }
            .into());
        }
        undone => undone?,
    };
    for (device, foreign) in cleared.links.devices {
        let left = foreign.as_ref().map(ToString::to_string);
        undone.links.push(Reverted { device, left });
        undone.foreign.extend(foreign);
    }
    if cleared.beats {
        undone.beats.get_or_insert(BeatsAction::Unloaded);
    }
    if cleared.crowd {
        undone.crowd.get_or_insert(CrowdAction::Left);
    }
    Ok(undone)
}

/// Needs the lock.
pub(super) fn clear() -> Result<Cleared, Error> {
    pending::none_waits_for_long()?;
    let netns_cookie = netns_cookie()?;
    let mut cleared = Cleared::default();
    // Records that cannot be used must not prevent what can be taken back without them.
    link::salvage()?;
    stock::salvage_all()?;
    segments::salvage(netns_cookie)?;
    download::salvage(netns_cookie)?;
    BeatsRecord::salvage_all()?;
    softirq::salvage()?;
    kernel_threads::salvage()?;
    salvage::<Weights>(netns_cookie)?;
    salvage::<LineRates>(netns_cookie)?;
    if is_of_another_version(Scheduler::open())? {
        softirq::restore()?;
        kernel_threads::restore()?;
        Scheduler::unload()?;
        cleared.beats = true;
    }
    let is_other = is_of_another_version(Crowd::open())?;
    if is_other {
        pinned::CROWD.unload()?;
    }
    crowd::salvage(netns_cookie)?;
    cleared.crowd = is_other && crowd::is_here(netns_cookie)?;
    if is_of_another_version(Program::open())? {
        cleared.links = outdated::give_back(netns_cookie)?;
    }
    if is_of_another_version(Sockets::open())? && !cleared.links.others_stay {
        pinned::SOCKETS.unload()?;
    }
    Ok(cleared)
}

pub(super) fn is_of_another_version<T>(opened: Result<Option<T>, Error>) -> Result<bool, Error> {
    match opened {
        Err(error) if BpfError::is_other_version(&error) => Ok(true),
        opened => opened.map(|_| false),
    }
}

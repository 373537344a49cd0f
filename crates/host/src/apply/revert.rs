//! Taking takt out again.

use serde::Serialize;

use super::{parts, pending, session::Session};
use crate::{
    beats::BeatsAction,
    crowd::CrowdAction,
    error::Error,
    helper,
    link::{self, Reverted, background},
    os::capability,
    part::{Ending, Foreign, Host},
};

/// What was undone on a host.
#[derive(Debug, Default, Serialize)]
pub struct Undone {
    /// All that takt managed in this network namespace.
    pub links: Vec<Reverted>,
    /// `None`: there were no beats, or none of this namespace's.
    pub beats: Option<BeatsAction>,
    /// Whether taktd had work: radio stations, or a client's own signal.
    pub radio: bool,
    /// `None`: the policy had no crowd.
    pub crowd: Option<CrowdAction>,
    /// What other programs changed, and was left alone.
    #[serde(skip)]
    pub foreign: Vec<Foreign>,
}

/// Give every device of this namespace back as it was found, and its policy's threads to the
/// kernel's own scheduler. What other programs changed meanwhile is left alone and reported.
/// Refused while a policy waits to be confirmed.
pub fn revert(beats: Ending) -> Result<Undone, Error> {
    revert_with(|| {
        pending::none_waits_for_long()?;
        let done = revert_all(beats)?;
        pending::forget()?;
        Ok(done)
    })
}

/// Remove what a network namespace without processes has left.
pub(super) fn revert_abandoned() -> Result<Undone, Error> {
    revert_with(|| revert_all(Ending::Policy))
}

fn revert_with(work: impl FnOnce() -> Result<Undone, Error>) -> Result<Undone, Error> {
    capability::require()?;
    let session = Session::begin()?;
    let done = work();
    // The first error is the one to report.
    let ended = session.end();
    let done = done?;
    ended?;
    helper::tend(false)?;
    if !link::are_loaded()? {
        background::dissolve()?;
    }
    Ok(done)
}

/// The work that needs the lock.
pub(super) fn revert_all(ending: Ending) -> Result<Undone, Error> {
    let host = &mut Host::open()?;
    parts::sweep(host)?;
    let mut undone = parts::revert(host, ending)?;
    for foreign in host.not_restored.drain(..) {
        undone.links.push(Reverted {
            device: foreign.device().unwrap_or_default().to_owned(),
            left: Some(foreign.to_string()),
        });
        undone.foreign.push(foreign);
    }
    Ok(undone)
}

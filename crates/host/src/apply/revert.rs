//! Taking takt out again.

use serde::Serialize;

use crate::{
    apply::{lock::Lock, pending},
    beats::{self, BeatsAction},
    crowd::{self, CrowdAction},
    error::{Error, Foreign},
    helper,
    link::{
        background,
        buffer::Buffers,
        managed::{Managed, Port},
        program::Program,
        receive,
        record::Record,
        takeover::release,
    },
    os::{
        capability,
        netlink::{Netlink, NetlinkError, Refusal, Request},
    },
    radio,
};

/// What happened to a device.
#[derive(Debug, Serialize)]
pub struct Reverted {
    /// As it was called when the policy was applied.
    pub device: String,
    /// Why something was left as it is.
    pub left: Option<String>,
}

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

/// What is removed of the beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The scheduler, with all that it runs.
    All,
    /// The policy's tasks; ad hoc tasks stay.
    Policy,
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
pub(crate) fn revert_abandoned() -> Result<Undone, Error> {
    revert_with(|| revert_all(Ending::Policy))
}

fn revert_with(work: impl FnOnce() -> Result<Undone, Error>) -> Result<Undone, Error> {
    capability::require()?;
    let lock = Lock::take()?;
    let done = work();
    // The first error is the one to report.
    let ended = lock.end();
    let done = done?;
    ended?;
    helper::tend(false)?;
    if Program::open()?.is_none() {
        background::dissolve()?;
    }
    Ok(done)
}

/// The work that needs the lock.
pub(crate) fn revert_all(beats: Ending) -> Result<Undone, Error> {
    let mut netlink = Netlink::open().map_err(Error::netlink("opening a route socket"))?;
    let netns_cookie = netlink
        .netns_cookie()
        .map_err(Error::netlink("identifying the namespace"))?;
    crowd::sweep()?;
    radio::sweep()?;
    let (crowd, foreign) = crowd::revert(netns_cookie)?;
    let mut undone = Undone {
        crowd,
        foreign: foreign.into_iter().collect(),
        beats: match beats {
            Ending::All => beats::revert(netns_cookie)?,
            Ending::Policy => beats::withdraw(netns_cookie)?,
        },
        radio: radio::revert(netns_cookie)?,
        ..Undone::default()
    };
    let Some(program) = Program::open()? else {
        return Ok(undone);
    };
    let ports = Port::list(&mut netlink)?;
    Managed::sweep(&program, netns_cookie, &ports)?;

    let found = Managed::list(&program, netns_cookie, &ports)?;
    receive::let_out(
        &program,
        found.iter().filter_map(|managed| managed.receive.as_ref()),
    )?;
    let buffers = Buffers::open(&mut netlink)?;
    for managed in found {
        let record = managed.record.as_ref();
        if let Some(limits) = record.and_then(|record| record.queue_limits.as_ref()) {
            buffers.undo(managed.outline.owner.ifindex, limits)?;
        }
        let release = release(&managed, managed.port(&ports));
        if release.foreign.is_none() {
            // If there is no space for the note, only a takt that dies in the next moment
            // leaves a device that looks changed by another program. That is no reason to keep
            // the link.
            let _ = Record::note_leaving(managed.index);
        }
        give_up(&mut netlink, &managed, &release.requests)?;
        program.remove_link(managed.index)?;
        Record::forget(managed.index)?;
        undone.links.push(Reverted {
            device: managed.name(),
            left: release.foreign.as_ref().map(ToString::to_string),
        });
        undone.foreign.extend(release.foreign);
    }
    receive::sweep(&program, &mut netlink, netns_cookie)?;
    Ok(undone)
}

fn give_up(netlink: &mut Netlink, managed: &Managed, requests: &[Request]) -> Result<(), Error> {
    if requests.is_empty() {
        return Ok(());
    }
    let doing = format!("restoring {}", managed.name());
    let answers = netlink
        .batch(requests)
        .map_err(Error::netlink(doing.clone()))?;
    let took_its_qdisc_along = |refusal: &Refusal| refusal.errno == libc::ENODEV;
    match answers.into_iter().find_map(Result::err) {
        Some(refusal) if !took_its_qdisc_along(&refusal) => {
            Err(Error::netlink(doing)(NetlinkError::Refused(refusal)))
        }
        _ => Ok(()),
    }
}

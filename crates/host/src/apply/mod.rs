//! Applying a policy: all of it or nothing.
//!
//! Everything that can fail or take long comes first and is invisible: plans are staged, maps
//! created, records written, the owners of sockets looked up. Then each part makes its visible
//! change, and if one fails, all are undone ([`transaction`], [`crate::part`]).

mod error;
mod handover;
pub(crate) mod keep;
mod names;
mod parts;
pub(crate) mod pending;
mod restore;
pub(crate) mod revert;
pub(crate) mod session;
mod transaction;
pub(crate) mod undecided;
pub(crate) mod upgrade;

pub use error::TrialError;

use serde::Serialize;
use takt_policy::{Class, Gate, Link, Policy};

use self::{
    handover::Handover, parts::Parts, pending::none_waits, session::Session,
    transaction::put_in_force, undecided::Undecided,
};
use crate::{
    beats::{BeatsAction, Displaced, refuse_cgroup_limits},
    bpf::pins,
    crowd::CrowdAction,
    download::{self, Downloads},
    error::Error,
    helper::{self, Ended, Stay},
    link::{Action, Outcome, Owners, Replace},
    os::{capability, routes},
    part::{Foreign, Host, Part},
    state::source::Source,
    stock,
};

/// How a policy is applied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Replace qdiscs that takt did not attach.
    pub replace: bool,
    /// Decide and report, but change nothing.
    pub dry_run: bool,
}

impl Options {
    pub(crate) fn replace(self) -> Replace {
        if self.replace {
            Replace::All
        } else {
            Replace::None
        }
    }
}

/// What was done to a host.
#[derive(Debug, Serialize)]
pub struct Applied {
    /// Those of the policy, in its order, and then those that it no longer names.
    pub links: Vec<Outcome>,
    /// `None`: the policy has no tasks, and there were none before.
    pub beats: Option<BeatsAction>,
    /// Ad hoc tasks that made room for the policy's.
    pub displaced: Vec<Displaced>,
    /// Whether taktd has work: radio stations, or a client's own signal.
    pub radio: bool,
    /// `None`: the policy has no crowd, and there was none before.
    pub crowd: Option<CrowdAction>,
    /// Whether programs of another version of takt were replaced, with another layout.
    pub handed_over: bool,
    /// Devices that were given back without the qdisc that they had before.
    #[serde(skip)]
    pub foreign: Vec<Foreign>,
}

/// Make this host's links, threads and congestion windows, and taktd's stations, follow the
/// policy; `source` is the file that it was read from.
pub fn apply(policy: &Policy, source: &Source, options: Options) -> Result<Applied, Undecided> {
    capability::require()?;
    let owners = Owners::look_up(policy)?;
    pins::require_writable()?;
    let session = Session::begin()?;
    let done = if options.dry_run {
        Ok(())
    } else {
        none_waits()
    };
    let done = done
        .and_then(|()| refuse_cgroup_limits(policy.beats.as_ref()))
        .and_then(|()| Handover::begin())
        .map_err(Undecided::from)
        .and_then(|handover| {
            let replace = options.replace();
            apply_locked(policy, source, &replace, options.dry_run, &owners, handover)
        });
    if options.dry_run && done.as_ref().is_ok_and(|applied| applied.handed_over) {
        // What is of another version stays, and cannot be looked at.
        drop(session);
        return done;
    }
    let starts_helper = done.is_ok() && !options.dry_run;
    let _coming = starts_helper.then(|| announce(policy));
    // The first error is the one to report.
    let ended = session.end();
    let done = done?;
    ended?;
    if options.dry_run {
        return Ok(done);
    }
    tend(policy)?;
    Ok(done)
}

/// Count the policy's helper as running until the result is dropped: the helper starts after
/// the host's lock is released. Needs the lock.
pub(crate) fn announce(policy: &Policy) -> Option<helper::Coming> {
    let wants_helper = needs_helper(policy);
    // Without this, `takt status` may briefly miss the helper.
    let coming = wants_helper.then(helper::announce);
    coming.and_then(Result::ok).flatten()
}

/// Have the helper look at the links of the policy in force.
pub(crate) fn tend(policy: &Policy) -> Result<(), Error> {
    let wants_helper = needs_helper(policy);
    match helper::tend(wants_helper) {
        Err(error) if wants_helper => Err(error),
        // A helper that is not needed hears of the change from the kernel as well.
        _ => Ok(()),
    }
}

/// The work that needs the lock. `handover`: from what another version has loaded; without one
/// that is refused.
pub(crate) fn apply_locked(
    policy: &Policy,
    source: &Source,
    replace: &Replace,
    dry_run: bool,
    owners: &Owners,
    handover: Option<Handover>,
) -> Result<Applied, Undecided> {
    let host = &mut Host::open()?;
    parts::sweep(host)?;
    let done = apply_on(host, policy, source, replace, dry_run, owners, handover);
    if done.is_err() && !dry_run {
        // Devices of downloads were made before anything was decided. The first error is the one to
        // report.
        let _swept = Downloads::sweep(host);
    }
    done
}

/// Of a host that was swept.
fn apply_on(
    host: &mut Host,
    policy: &Policy,
    source: &Source,
    replace: &Replace,
    dry_run: bool,
    owners: &Owners,
    handover: Option<Handover>,
) -> Result<Applied, Undecided> {
    if dry_run {
        download::assume(policy, host)?
    } else {
        download::make(policy, host)?
    }
    let mut parts = Parts::decide(policy, source, replace, owners, host)?;
    let mut applied = parts.outcome(policy);
    if dry_run || handover.is_some() {
        parts.each().iter().try_for_each(|part| part.verify())?;
    }
    if let Some(handover) = &handover {
        handover.note(&mut applied);
    }
    if dry_run {
        return Ok(applied);
    }
    let done = put_in_force(&mut parts.each(), host);
    match handover {
        Some(handover) => handover.end(done)?,
        None => done?,
    }
    if { applied.links.iter() }.any(|link| link.action != Action::Unchanged) {
        routes::look_up_again();
    }
    applied.foreign = std::mem::take(&mut host.not_restored);
    // A device that goes from one backend to another was not given back for long.
    let attached = |device: &str| {
        let mut links = applied.links.iter();
        links.any(|link| link.device == device && link.action != Action::Detached)
    };
    let is_attached = |foreign: &Foreign| foreign.device().is_some_and(attached);
    applied.foreign.retain(|foreign| !is_attached(foreign));
    Ok(applied)
}

/// Help this namespace's links. Returns when there is nothing left to do, or `false` at once if
/// there is a helper already.
pub fn feed(stay: Stay) -> Result<bool, Error> {
    match helper::feed(stay)? {
        Ended::Superfluous => Ok(false),
        Ended::NotNeeded => Ok(true),
        Ended::Abandoned => revert::revert_abandoned().map(|_| true),
    }
}

/// The policy that this namespace's links, windows and stations and the host's tasks follow, if
/// there is one.
pub fn applied_policy() -> Result<Option<Source>, Error> {
    capability::require()?;
    parts::source(&mut Host::open()?)
}

/// Whether takt's own qdisc cannot carry all of the policy's links alone.
fn needs_helper(policy: &Policy) -> bool {
    let wanting: Vec<Link> = policy
        .links
        .iter()
        .filter(|link| wants_help(link))
        .cloned()
        .collect();
    stock::assign(&wanting).is_ok_and(|assigned| !assigned.takt.is_empty())
}

/// Whether BPF alone cannot carry the link.
fn wants_help(link: &Link) -> bool {
    let is_gated = |class: &Class| class.gate == Some(Gate::Sender);
    link.pacing.fills_gaps() || link.classes.iter().any(is_gated)
}

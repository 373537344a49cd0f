//! Applying a policy: all of it or nothing.
//!
//! Everything that can fail or take long comes first and is invisible: plans
//! are staged, maps created, records written, the owners of sockets looked up. What shows is one system call for
//! the devices (a batch on the route socket) and one for the plans of links
//! that already stand (a program that switches them). A takt that dies before them has
//! changed nothing that counts, and one that dies after has only failed to tidy
//! up, which the next takt does.

use serde::Serialize;
use takt_planner::Questions;
use takt_policy::{Class, Gate, Link, Pacing};

use crate::{
    capability,
    change::{give_back, take},
    decide::{Found, Step, Undecided, decide, slot},
    error::Error,
    helper,
    managed::{Managed, Port},
    netlink::{Device, Netlink, NetlinkError, Request},
    program::Program,
    record::{Lock, Record, Source},
    sockets::{Asked, Sockets},
};

#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Take the place of other people's qdiscs.
    pub replace: bool,
    /// Decide and report, but change nothing.
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Attached,
    Updated,
    Unchanged,
    Detached,
}

/// What was done to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub device: String,
    pub action: Action,
}

/// Make this host's links follow `links`, which `source` says.
pub fn apply(links: &[Link], source: &Source, options: Options) -> Result<Vec<Outcome>, Undecided> {
    capability::require()?;
    let lock = Lock::take()?;
    let done = apply_locked(links, source, options);
    // What went wrong first is what to report.
    let ended = lock.end();
    let done = done?;
    ended?;
    if !options.dry_run {
        helper::tend(links.iter().any(wants_help))?;
    }
    Ok(done)
}

fn apply_locked(
    links: &[Link],
    source: &Source,
    options: Options,
) -> Result<Vec<Outcome>, Undecided> {
    let mut netlink = Netlink::open().map_err(Error::netlink("opening a route socket"))?;
    let program = Program::open()?;
    let found = look(&mut netlink, program.as_ref(), options.replace)?;
    let questions = Questions::of(links);
    let asked = Asked::resolve(&questions)?;
    let slot = slot(source, &found.managed);
    let netns_cookie = found.netns_cookie;
    let steps = decide(links, &questions, slot, source, found)?;
    let outcomes = steps.iter().map(outcome).collect();
    let watches = watches_sockets(links);
    if options.dry_run {
        if program.is_none() {
            Program::verify()?;
        }
        if watches {
            Sockets::verify()?;
        }
        return Ok(outcomes);
    }
    let program = match program {
        Some(program) => program,
        None => Program::load()?,
    };
    let watch = || {
        if !watches {
            return Ok(());
        }
        Sockets::open_or_load(&program)?.ask(netns_cookie, slot, &asked)
    };
    let done = watch()
        .and_then(|()| prepare(&program, &steps))
        .and_then(|()| commit(&program, &mut netlink, &steps));
    match done {
        Ok(()) => tidy(&program, &steps)?,
        Err(error) => {
            abandon(&program, &steps)?;
            return Err(error.into());
        }
    }
    Ok(outcomes)
}

/// Whether BPF alone cannot carry the link.
fn wants_help(link: &Link) -> bool {
    let is_gated = |class: &Class| class.gate == Some(Gate::Sender);
    link.pacing == Pacing::Gap || link.classes.iter().any(is_gated)
}

/// Whether the policy asks about the owners of sockets, or how important their
/// tasks are, or must know when they close.
fn watches_sockets(links: &[Link]) -> bool {
    links.iter().flat_map(|link| &link.classes).any(|class| {
        class.per_flow
            || class.gate == Some(Gate::Sender)
            || class.matches.iter().any(|m| m.questions().next().is_some())
    })
}

fn look(netlink: &mut Netlink, program: Option<&Program>, replace: bool) -> Result<Found, Error> {
    let netns_cookie = netlink
        .netns_cookie()
        .map_err(Error::netlink("identifying the namespace"))?;
    let ports = Port::list(netlink)?;
    let (managed, indices_taken) = match program {
        Some(program) => {
            Managed::sweep(program, netns_cookie, &ports)?;
            (
                Managed::list(program, netns_cookie, &ports)?,
                program.links()?.into_iter().collect(),
            )
        }
        None => Default::default(),
    };
    Ok(Found {
        netns_cookie,
        ports,
        managed,
        indices_taken,
        replace,
    })
}

/// All that nobody sees: new links' maps, and the records.
fn prepare(program: &Program, steps: &[Step]) -> Result<(), Error> {
    for step in steps {
        match step {
            Step::Attach { plan, record, .. } => {
                program.add_link(record.index, record.owner, plan)?;
                record.write()?;
            }
            Step::Update { plan, record, .. } => {
                program.stage_plan(record.index, plan)?;
                record.write()?;
            }
            Step::Detach { managed, release } if release.foreign.is_none() => {
                Record::note_leaving(managed.index)?;
            }
            Step::Keep { .. } | Step::Detach { .. } => {}
        }
    }
    Ok(())
}

/// All that everybody sees.
fn commit(program: &Program, netlink: &mut Netlink, steps: &[Step]) -> Result<(), Error> {
    change_devices(netlink, steps)?;
    let updated: Vec<u32> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Update { record, .. } => Some(record.index),
            _ => None,
        })
        .collect();
    program.commit(&updated)
}

/// All devices in one batch; if the kernel refuses any of it, none of it.
fn change_devices(netlink: &mut Netlink, steps: &[Step]) -> Result<(), Error> {
    let (devices, requests): (Vec<String>, Vec<Request>) = steps
        .iter()
        .flat_map(|step| {
            forward(step)
                .into_iter()
                .map(|request| (outcome(step).device, request))
        })
        .unzip();
    if requests.is_empty() {
        return Ok(());
    }
    let answers = netlink
        .batch(&requests)
        .map_err(Error::netlink("changing the devices"))?;
    for (device, answer) in devices.iter().zip(answers) {
        if let Err(refusal) = answer {
            // Taking back what was not done is refused, and that is fine.
            let undo: Vec<Request> = steps.iter().flat_map(backward).collect();
            netlink
                .batch(&undo)
                .map_err(Error::netlink("undoing a half-done change"))?;
            return Err(Error::Netlink {
                doing: format!("changing {device}"),
                source: NetlinkError::Refused(refusal),
            });
        }
    }
    Ok(())
}

fn forward(step: &Step) -> Vec<Request> {
    match step {
        Step::Attach { record, .. } => take(record),
        Step::Update {
            record,
            gso_max_segs,
            ..
        } => gso_max_segs
            .map(|limit| Device::limit_segments(record.owner.ifindex, limit))
            .into_iter()
            .collect(),
        Step::Detach { release, .. } => release.requests.clone(),
        Step::Keep { .. } => Vec::new(),
    }
}

fn backward(step: &Step) -> Vec<Request> {
    match step {
        Step::Attach { record, .. } => give_back(record.owner.ifindex, &record.before),
        Step::Detach { managed, release } if !release.requests.is_empty() => {
            managed.record.as_ref().map(take).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The kernel refused: forget what was prepared.
fn abandon(program: &Program, steps: &[Step]) -> Result<(), Error> {
    for step in steps {
        if let Step::Attach { record, .. } = step {
            program.remove_link(record.index)?;
            Record::forget(record.index)?;
        }
    }
    Ok(())
}

/// Remove what the new state no longer needs.
fn tidy(program: &Program, steps: &[Step]) -> Result<(), Error> {
    for step in steps {
        match step {
            Step::Attach { record, lost, .. } => {
                record.sweep()?;
                if let Some(index) = lost {
                    program.remove_link(*index)?;
                    Record::forget(*index)?;
                }
            }
            Step::Update { record, .. } | Step::Keep { record } => record.sweep()?,
            Step::Detach { managed, .. } => {
                program.remove_link(managed.index)?;
                Record::forget(managed.index)?;
            }
        }
    }
    Ok(())
}

fn outcome(step: &Step) -> Outcome {
    let (device, action) = match step {
        Step::Attach { record, .. } => (record.device.clone(), Action::Attached),
        Step::Update { record, .. } => (record.device.clone(), Action::Updated),
        Step::Keep { record } => (record.device.clone(), Action::Unchanged),
        Step::Detach { managed, .. } => (managed.name(), Action::Detached),
    };
    Outcome { device, action }
}

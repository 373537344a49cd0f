//! Applying a policy: all of it or nothing.
//!
//! Everything that can fail or take long comes first and is invisible: plans are staged, maps
//! created, records written, the owners of sockets looked up. The visible change is one system
//! call for the devices (a batch on the route socket) and one for the plans of attached links
//! (a program that switches them). A takt that dies before the two calls has changed nothing
//! visible. One that dies after them has only left things to tidy up, which the next takt does.

pub(crate) mod lock;
pub(crate) mod pending;
pub(crate) mod rest;
pub(crate) mod restore;
pub(crate) mod revert;

use serde::Serialize;
use takt_planner::Questions;
use takt_policy::{Class, Gate, Link, Pacing, Policy};

use crate::{
    apply::{lock::Lock, pending::none_waits, rest::Rest},
    beats::{BeatsAction, Displaced},
    crowd::{self, CrowdAction},
    error::Error,
    helper,
    link::{
        buffer::{Buffers, QueueLimits},
        decide::{Found, Replace, Step, Undecided, decide, slot},
        managed::{Managed, Port},
        program::Program,
        receive::{self, Side},
        record::Record,
        sockets::{Asked, Sockets},
        takeover::{give_back, take},
    },
    os::{
        capability,
        netlink::{Device, Netlink, NetlinkError, Request},
    },
    radio,
    state::source::Source,
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
        match self.replace {
            true => Replace::All,
            false => Replace::None,
        }
    }
}

/// What happened to takt's qdisc on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It was attached as the device's root.
    Attached,
    /// It was attached already, and the policy changes its plan.
    Updated,
    /// It was attached already, and the policy changes nothing.
    Unchanged,
    /// The policy no longer names the device, and takt gave it back.
    Detached,
}

/// What was done to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// As the policy names it; of a device that was given back, as the previous policy did.
    pub device: String,
    /// What happened to takt's qdisc on it.
    pub action: Action,
    /// The device that its incoming background packets are sent through.
    pub receive: Option<String>,
}

/// What was done to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
}

/// Make this host's links, threads and congestion windows, and taktd's stations, follow the
/// policy; `source` is the file that it was read from.
pub fn apply(policy: &Policy, source: &Source, options: Options) -> Result<Applied, Undecided> {
    capability::require()?;
    let questions = Questions::of(&policy.links);
    // Users may be looked up on a server, so do it without the lock.
    let asked = Asked::resolve(&questions)?;
    let lock = Lock::take()?;
    let done = match options.dry_run {
        true => Ok(()),
        false => none_waits(),
    };
    let done = done.map_err(Undecided::from).and_then(|()| {
        let replace = options.replace();
        apply_locked(policy, source, replace, options.dry_run, &questions, &asked)
    });
    let starts_helper = done.is_ok() && !options.dry_run;
    let _coming = starts_helper.then(|| announce(policy));
    // The first error is the one to report.
    let ended = lock.end();
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
    let wants_helper = policy.links.iter().any(wants_help);
    // Without this, `takt status` may briefly miss the helper.
    let coming = wants_helper.then(helper::announce);
    coming.and_then(Result::ok).flatten()
}

/// Have the helper look at the links of the policy in force.
pub(crate) fn tend(policy: &Policy) -> Result<(), Error> {
    let wants_helper = policy.links.iter().any(wants_help);
    match helper::tend(wants_helper) {
        Err(error) if wants_helper => Err(error),
        // A helper that is not needed hears of the change from the kernel as well.
        _ => Ok(()),
    }
}

/// The work that needs the lock.
pub(crate) fn apply_locked(
    policy: &Policy,
    source: &Source,
    replace: Replace,
    dry_run: bool,
    questions: &Questions,
    asked: &Asked,
) -> Result<Applied, Undecided> {
    let links = policy.links.as_slice();
    let mut netlink = Netlink::open().map_err(Error::netlink("opening a route socket"))?;
    let program = Program::open()?;
    crowd::sweep()?;
    radio::sweep()?;
    let found = look(&mut netlink, program.as_ref(), replace)?;
    let slot = slot(source, &found.managed);
    let netns_cookie = found.netns_cookie;
    let rest = Rest::of_policy(policy, source, &found.ports, netns_cookie)?;
    let mut steps = decide(links, questions, slot, source, found)?;
    let applied = Applied {
        links: steps.iter().map(outcome).collect(),
        beats: rest.beats(),
        displaced: rest.displaced().to_vec(),
        radio: policy.radio.is_some(),
        crowd: rest.crowd(),
    };
    let watches = watches_sockets(links);
    if dry_run {
        rest.verify()?;
        if program.is_none() && !steps.is_empty() {
            Program::verify()?;
        }
        if watches {
            Sockets::verify()?;
        }
        if receives(&steps) {
            receive::verify_program()?;
        }
        return Ok(applied);
    }
    if steps.is_empty() {
        rest.prepare()
            .and_then(|()| rest.commit())
            .map_err(|error| error.after(rest.undo()))?;
        rest.tidy()?;
        return Ok(applied);
    }
    let program = match program {
        Some(program) => program,
        None => Program::load()?,
    };
    let buffers = Buffers::open(&mut netlink)?;
    let watch = || {
        if !watches {
            return Ok(());
        }
        Sockets::open_or_load(&program)?.ask(netns_cookie, slot, asked)
    };
    let done = watch()
        .and_then(|()| rest.prepare())
        .and_then(|()| prepare(&program, &mut netlink, &buffers, &mut steps))
        .and_then(|()| rest.commit())
        .and_then(|()| commit(&program, &mut netlink, &buffers, &steps));
    if let Err(error) = done {
        let links = abandon(&program, &mut netlink, &buffers, &steps);
        return Err(error.after(rest.undo().into_iter().chain(links)).into());
    }
    rest.tidy()?;
    tidy(&program, &mut netlink, &steps)?;
    Ok(applied)
}

/// Whether BPF alone cannot carry the link.
fn wants_help(link: &Link) -> bool {
    let is_gated = |class: &Class| class.gate == Some(Gate::Sender);
    link.pacing == Pacing::Gap || link.classes.iter().any(is_gated)
}

/// Whether the policy asks about the owners of sockets or the priority of their tasks, or must
/// know when sockets close.
fn watches_sockets(links: &[Link]) -> bool {
    links.iter().flat_map(|link| &link.classes).any(|class| {
        class.per_flow
            || class.gate == Some(Gate::Sender)
            || class.matches.iter().any(|m| m.questions().next().is_some())
    })
}

fn receives(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Attach { receive, .. } | Step::Update { receive, .. } => receive.is_some(),
        Step::Keep { .. } | Step::Detach { .. } => false,
    })
}

fn look(
    netlink: &mut Netlink,
    program: Option<&Program>,
    replace: Replace,
) -> Result<Found, Error> {
    let netns_cookie = netlink
        .netns_cookie()
        .map_err(Error::netlink("identifying the namespace"))?;
    let ports = Port::list(netlink)?;
    let (managed, indices_taken) = match program {
        Some(program) => {
            Managed::sweep(program, netns_cookie, &ports)?;
            receive::sweep(program, netlink, netns_cookie)?;
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

/// The invisible work: new links' maps, and the records.
fn prepare(
    program: &Program,
    netlink: &mut Netlink,
    buffers: &Buffers,
    steps: &mut [Step],
) -> Result<(), Error> {
    for step in steps {
        match step {
            Step::Attach {
                plan,
                receive,
                record,
                queue_limits,
                ..
            } => {
                note_queues(buffers, record, queue_limits.as_ref());
                if let Some(wanted) = receive {
                    receive::make(program, netlink, record, wanted, plan)?;
                }
                program.add_link(record.index, record.owner, plan)?;
                record.write()?;
            }
            Step::Update {
                plan,
                receive,
                record,
                queue_limits,
                ..
            } => {
                note_queues(buffers, record, queue_limits.as_ref());
                if let Some(wanted) = receive {
                    receive::make(program, netlink, record, wanted, plan)?;
                }
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

/// What the device's queues may hold from now on.
fn note_queues(buffers: &Buffers, record: &mut Record, last: Option<&QueueLimits>) {
    let device = record.owner.ifindex;
    if let Some(limits) = &mut record.queue_limits {
        buffers.note(device, limits, last);
    }
}

/// The visible change.
fn commit(
    program: &Program,
    netlink: &mut Netlink,
    buffers: &Buffers,
    steps: &[Step],
) -> Result<(), Error> {
    // While the records that say who limited the queues are in force.
    for (device, limits) in leaving_limits(steps) {
        buffers.undo(device, limits)?;
    }
    receive::let_out(program, leaving_sides(steps))?;
    change_devices(netlink, steps)?;
    change_plans(program, buffers, steps)
        .map_err(|error| error.after([change_devices_back(netlink, steps)]))
}

/// Switches all plans in one call, and then sets the limits of the devices' queues.
fn change_plans(program: &Program, buffers: &Buffers, steps: &[Step]) -> Result<(), Error> {
    let mut updated = Vec::new();
    for step in steps {
        let Step::Update {
            record, receive, ..
        } = step
        else {
            continue;
        };
        updated.push(record.index);
        if let Some(wanted) = receive.as_ref().filter(|wanted| wanted.ifindex.is_some()) {
            program.stage_plan(wanted.index, &wanted.plan)?;
            updated.push(wanted.index);
        }
    }
    program.commit(&updated)?;
    coming_limits(steps)
        .try_for_each(|(device, limits)| buffers.limit(device, limits))
        // The previous plans are still staged, so a second commit restores them.
        .map_err(|error| error.after([program.commit(&updated)]))
}

/// The new limits of devices' queues, where they are to be limited.
fn coming_limits(steps: &[Step]) -> impl Iterator<Item = (u32, &QueueLimits)> {
    let records = steps.iter().filter_map(|step| match step {
        Step::Attach { record, .. } | Step::Update { record, .. } | Step::Keep { record } => {
            Some(record)
        }
        Step::Detach { .. } => None,
    });
    records.filter_map(|record| Some((record.owner.ifindex, record.queue_limits.as_ref()?)))
}

/// The old limits of devices' queues whose plans change or end, where they were limited.
fn leaving_limits(steps: &[Step]) -> impl Iterator<Item = (u32, &QueueLimits)> {
    steps.iter().filter_map(|step| match step {
        Step::Attach {
            record,
            queue_limits,
            ..
        }
        | Step::Update {
            record,
            queue_limits,
            ..
        } => Some((record.owner.ifindex, queue_limits.as_ref()?)),
        Step::Detach { managed, .. } => {
            let record = managed.record.as_ref()?;
            Some((record.owner.ifindex, record.queue_limits.as_ref()?))
        }
        Step::Keep { .. } => None,
    })
}

/// The receive sides of links whose plans change or end.
fn leaving_sides(steps: &[Step]) -> impl Iterator<Item = &Side> {
    steps.iter().filter_map(|step| match step {
        Step::Update { side, .. } => side.as_ref(),
        Step::Detach { managed, .. } => managed.receive.as_ref(),
        Step::Attach { .. } | Step::Keep { .. } => None,
    })
}

/// Change all devices in one batch; if the kernel refuses a request, change none.
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
            // Requests that undo what was not done are refused, which is expected.
            let undone = netlink.batch(&steps.iter().flat_map(backward).collect::<Vec<_>>());
            let error = Error::netlink(format!("changing {device}"));
            return Err(error(NetlinkError::Refused(refusal))
                .after([undone.map(drop).map_err(Error::netlink(UNDOING))]));
        }
    }
    Ok(())
}

const UNDOING: &str = "changing the devices back";

/// Needs that all devices were changed.
fn change_devices_back(netlink: &mut Netlink, steps: &[Step]) -> Result<(), Error> {
    let requests: Vec<Request> = steps.iter().flat_map(backward).collect();
    match requests.is_empty() {
        true => Ok(()),
        false => netlink.all(&requests).map_err(Error::netlink(UNDOING)),
    }
}

fn forward(step: &Step) -> Vec<Request> {
    match step {
        Step::Attach { record, .. } => take(record),
        Step::Update {
            record, segments, ..
        } => segments
            .map(|limit| Device::limit_segments(record.owner.ifindex, limit.to))
            .into_iter()
            .collect(),
        Step::Detach { release, .. } => release.requests.clone(),
        Step::Keep { .. } => Vec::new(),
    }
}

fn backward(step: &Step) -> Vec<Request> {
    match step {
        Step::Attach { record, .. } => give_back(record.owner.ifindex, &record.before),
        Step::Update {
            record, segments, ..
        } => segments
            .map(|limit| Device::limit_segments(record.owner.ifindex, limit.from))
            .into_iter()
            .collect(),
        Step::Detach { managed, release } if !release.requests.is_empty() => {
            managed.record.as_ref().map(take).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The kernel refused: remove what was prepared. A failure does not stop the rest.
fn abandon(
    program: &Program,
    netlink: &mut Netlink,
    buffers: &Buffers,
    steps: &[Step],
) -> Vec<Result<(), Error>> {
    let mut done = Vec::new();
    // The limits of unchanged plans stay.
    let changes = steps
        .iter()
        .filter(|step| !matches!(step, Step::Keep { .. }));
    for (device, limits) in changes.flat_map(|step| coming_limits(std::slice::from_ref(step))) {
        done.push(buffers.undo(device, limits));
    }
    for (device, limits) in leaving_limits(steps) {
        done.push(buffers.limit(device, limits));
    }
    done.push(receive::restore(program, leaving_sides(steps)));
    done.extend(steps.iter().map(|step| forget(program, step)));
    done.push(sweep_sides(program, netlink));
    done
}

/// Remove what was prepared for one link.
fn forget(program: &Program, step: &Step) -> Result<(), Error> {
    match step {
        Step::Attach { record, .. } => {
            program.remove_link(record.index)?;
            Record::forget(record.index)
        }
        Step::Update { record, .. } => {
            let found = program.port(record.index)?;
            match found.map(|port| port.outline().generation) == Some(record.generation) {
                true => Ok(()),
                false => record.discard(),
            }
        }
        Step::Detach { managed, .. } => Record::note_staying(managed.index),
        Step::Keep { .. } => Ok(()),
    }
}

/// Remove what the new state no longer needs.
fn tidy(program: &Program, netlink: &mut Netlink, steps: &[Step]) -> Result<(), Error> {
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
    sweep_sides(program, netlink)
}

fn sweep_sides(program: &Program, netlink: &mut Netlink) -> Result<(), Error> {
    let netns_cookie = netlink
        .netns_cookie()
        .map_err(Error::netlink("identifying the namespace"))?;
    receive::sweep(program, netlink, netns_cookie)
}

fn outcome(step: &Step) -> Outcome {
    let (device, action) = match step {
        Step::Attach { record, .. } => (record.device.clone(), Action::Attached),
        Step::Update { record, .. } => (record.device.clone(), Action::Updated),
        Step::Keep { record } => (record.device.clone(), Action::Unchanged),
        Step::Detach { managed, .. } => (managed.name(), Action::Detached),
    };
    let receive = match step {
        Step::Attach {
            receive, record, ..
        }
        | Step::Update {
            receive, record, ..
        } => receive
            .as_ref()
            .map(|_| receive::name_of(record.owner.ifindex)),
        Step::Keep { .. } | Step::Detach { .. } => None,
    };
    Outcome {
        device,
        action,
        receive,
    }
}

//! The part of a transaction that is the links'.
//!
//! The visible change is one system call for the devices (a batch on the route socket) and one
//! for the plans of attached links (a program that switches them). A takt that dies before the
//! two calls has changed nothing visible. One that dies after them has only left things to tidy
//! up, which the next takt does.

use std::{collections::BTreeSet, slice};

use serde::Serialize;
use takt_algo::sys::takt_plan;
use takt_planner::Questions;
use takt_policy::{Backend, Link, Policy};

use super::{
    buffer::{Buffers, QueueLimits},
    conflict::Conflicts,
    decide::{Found, Refusal, Replace, Step, decide},
    devices,
    egress::{self, Writer},
    managed::Managed,
    outdated::{self, Left},
    program::Program,
    receive::{self, Side},
    record::{Before, Record},
    sockets::{Asked, Slot, SlotInUse, Sockets, needed_by},
    status::{self, LinkStatus},
    takeover::release,
};
use crate::{
    error::Error,
    part::{Ending, Foreign, Host, Part, Query, Undone},
    state::source::Source,
};

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
    /// What carries out the policy there.
    pub backend: Backend,
    /// The device that its incoming background packets are sent through.
    pub receive: Option<String>,
    /// Whether its packets are not IP (CAN and others): none can be classified, and CoDel is off.
    pub without_ip: bool,
    /// Devices above it, such as MACsec's, whose packets are classified by what is outside.
    pub opaque: Vec<String>,
}

/// What happened to a device.
#[derive(Debug, Serialize)]
pub struct Reverted {
    /// As it was called when the policy was applied.
    pub device: String,
    /// Why something was left as it is.
    pub left: Option<String>,
}

/// The owners of sockets that a policy's matches name.
#[derive(Debug)]
pub(crate) struct Owners {
    questions: Questions,
    asked: Asked,
}

impl Owners {
    /// Users may be looked up on a server, so do it without the host's lock.
    pub fn look_up(policy: &Policy) -> Result<Self, Refusal> {
        let questions = Questions::of(&policy.links);
        let asked = Asked::resolve(&questions)?;
        Ok(Self { questions, asked })
    }

    pub fn questions(&self) -> &Questions {
        &self.questions
    }

    /// Have the sockets of a namespace answer, in this slot.
    pub fn ask(&self, sockets: &Sockets, netns_cookie: u64, slot: Slot) -> Result<(), Error> {
        sockets.ask(netns_cookie, slot, &self.asked)
    }
}

/// A device of this namespace that takt has a link of, on whichever backend.
pub(crate) struct Carrier {
    pub ifindex: u32,
    /// Whether it carries what takt put there.
    pub carries: bool,
    /// What it had before; `None`: takt's record of it is lost.
    pub before: Option<Before>,
}

/// Those on takt's own qdisc.
pub(crate) fn carriers(host: &mut Host) -> Result<Vec<Carrier>, Error> {
    let ports = host.ports()?;
    let left = Left::list(Program::open()?.as_ref(), host.netns_cookie)?;
    let left = left.into_iter().map(|left| Carrier {
        ifindex: left.record.owner.ifindex,
        carries: ports.iter().any(|port| left.is_on(port)),
        before: Some(left.record.before),
    });
    let left: Vec<_> = left.filter(|carrier| carrier.carries).collect();
    let carrier = |managed: Managed| {
        let port = managed.port(&ports);
        Carrier {
            ifindex: managed.outline.owner.ifindex,
            carries: port.is_some_and(|port| port.carries(managed.index)),
            before: managed.record.map(|record| record.before),
        }
    };
    let carriers = Managed::all(host)?.into_iter().map(carrier);
    Ok(carriers.chain(left).collect())
}

/// The slots that links of this namespace on takt's own qdisc read.
pub(crate) fn slots(host: &mut Host) -> Result<Vec<SlotInUse>, Error> {
    let in_use = |managed: Managed| SlotInUse {
        index: managed.plan.who_slot,
        source: managed.record.map(|record| record.source),
    };
    Ok(Managed::all(host)?.into_iter().map(in_use).collect())
}

/// The namespaces whose sockets the qdisc looks at.
pub(crate) fn watched() -> Result<BTreeSet<u64>, Error> {
    let mut watched = BTreeSet::new();
    let Some(program) = Program::open()? else {
        return Ok(watched);
    };
    for index in program.links()? {
        if let Some(port) = program.port(index)?.filter(|port| needed_by(&port.plan())) {
            watched.insert(port.outline().owner.netns_cookie);
        }
    }
    Ok(watched)
}

/// What a policy changes of the links.
pub(crate) struct Links<'a> {
    steps: Vec<Step>,
    /// Of another version, or without a program: in the end nothing of them stays.
    left: Vec<Left>,
    /// The devices of other parts.
    handed_over: BTreeSet<u32>,
    /// `None`: it is not loaded yet.
    program: Option<Program>,
    buffers: Option<Buffers>,
    owners: &'a Owners,
    slot: Slot,
    watches_sockets: bool,
    reached: Reached,
}

/// How far the steps came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Decided,
    Prepared,
    /// Some devices may have changed.
    DevicesPartly,
    Devices,
    Plans,
}

impl<'a> Links<'a> {
    /// What following the policy changes of this namespace's devices.
    pub fn decide(
        links: &[Link],
        source: &Source,
        replace: &Replace,
        owners: &'a Owners,
        slot: Slot,
        host: &mut Host,
    ) -> Result<Self, Refusal> {
        let ports = host.ports()?;
        let program = Program::open()?;
        let left = Left::list(program.as_ref(), host.netns_cookie)?;
        let (managed, mut indices_taken): (_, BTreeSet<u32>) = match &program {
            Some(program) => (
                Managed::list(program, host.netns_cookie, &ports)?,
                program.links()?.into_iter().collect(),
            ),
            None => Default::default(),
        };
        // The kernel takes a qdisc with the handle of the present one for a change of that.
        indices_taken.extend(left.iter().map(|left| left.index));
        let found = Found {
            netns_cookie: host.netns_cookie,
            ports: &ports,
            managed,
            left: &left,
            indices_taken,
            replace,
        };
        Ok(Self {
            steps: decide(links, &owners.questions, slot, source, found)?,
            left,
            handed_over: BTreeSet::new(),
            program,
            buffers: None,
            owners,
            slot,
            watches_sockets: Sockets::are_watched_for(links),
            reached: Reached::Decided,
        })
    }

    /// Another part puts its own qdisc on these devices, and takes takt's with it.
    pub fn hand_over(&mut self, devices: &BTreeSet<u32>) {
        self.handed_over.clone_from(devices);
        for step in &mut self.steps {
            if let Step::Detach { managed, release } = step
                && devices.contains(&managed.outline.owner.ifindex)
            {
                release.requests.clear();
                release.foreign = None;
            }
        }
    }

    /// Attach takt's qdisc to devices of the policy in force that have lost it, and leave all other links
    /// as they are.
    pub fn attach_again(
        links: &[Link],
        source: &Source,
        replace: &Replace,
        owners: &'a Owners,
        slot: Slot,
        host: &mut Host,
    ) -> Result<Self, Refusal> {
        let mut part = Self::decide(links, source, replace, owners, slot, host)?;
        let ports = host.ports()?;
        // The device that went has the same name, but another number.
        let went = |managed: &Managed| {
            let name = managed.name();
            managed.port(&ports).is_none() && links.iter().any(|link| link.device == name)
        };
        part.steps.retain(|step| match step {
            Step::Attach { .. } => true,
            Step::Detach { managed, .. } => went(managed),
            Step::Update { .. } | Step::Keep { .. } => false,
        });
        part.left.clear();
        Ok(part)
    }

    pub fn outcomes(&self) -> Vec<Outcome> {
        let taken = self.devices();
        let going = self
            .left
            .iter()
            .filter(|left| !taken.contains(&left.record.owner.ifindex));
        let given_back = going.map(|left| Outcome {
            device: left.record.device.clone(),
            action: Action::Detached,
            backend: Backend::Takt,
            receive: None,
            without_ip: false,
            opaque: Vec::new(),
        });
        self.steps.iter().map(outcome).chain(given_back).collect()
    }

    /// Those that have links from now on, of this part or of another.
    fn devices(&self) -> BTreeSet<u32> {
        let ours = self.steps.iter().map(Step::ifindex);
        ours.chain(self.handed_over.iter().copied()).collect()
    }

    /// The plans that are new.
    fn plans(&self) -> impl Iterator<Item = &takt_plan> + Clone {
        self.steps.iter().filter_map(|step| match step {
            Step::Attach { plan, .. } | Step::Update { plan, .. } => Some(&**plan),
            Step::Keep { .. } | Step::Detach { .. } => None,
        })
    }

    /// Whether incoming packets are delayed.
    fn receives(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Attach { receive, .. } | Step::Update { receive, .. } => receive.is_some(),
            Step::Keep { .. } | Step::Detach { .. } => false,
        })
    }
}

impl Part for Links<'_> {
    type Undone = Vec<Reverted>;
    type Status = Vec<LinkStatus>;

    fn sweep(host: &mut Host) -> Result<(), Error> {
        let program = Program::open()?;
        outdated::sweep(program.as_ref())?;
        let Some(program) = program else {
            return Ok(());
        };
        Managed::sweep(&program, host.netns_cookie, &host.ports()?)?;
        Conflicts::sweep()?;
        egress::sweep(&program)?;
        receive::sweep(&program, &mut host.netlink, host.netns_cookie)
    }

    fn revert(host: &mut Host, _: Ending) -> Result<Undone<Self::Undone>, Error> {
        let mut undone = Undone::all(Vec::new());
        let program = Program::open()?;
        let ports = host.ports()?;
        let found = match &program {
            Some(program) => Managed::list(program, host.netns_cookie, &ports)?,
            None => Vec::new(),
        };
        let managed = found.iter().map(|managed| managed.outline.owner.ifindex);
        let managed = managed.collect();
        let left = Left::list(program.as_ref(), host.netns_cookie)?;
        for (device, foreign) in outdated::release(left, program.as_ref(), &managed, host)? {
            let left = foreign.as_ref().map(ToString::to_string);
            undone.done.push(Reverted { device, left });
            undone.foreign.extend(foreign);
        }
        let Some(program) = program else {
            return Ok(undone);
        };
        let sides = found.iter().filter_map(|managed| managed.receive.as_ref());
        receive::let_out(&program, sides)?;
        let buffers = Buffers::open(&mut host.netlink)?;
        for managed in found {
            let record = managed.record.as_ref();
            if let Some(limits) = record.and_then(|record| record.queue_limits.as_ref()) {
                buffers.undo(managed.outline.owner.ifindex, limits)?;
            }
            let release = release(&managed, managed.port(&ports));
            if release.foreign.is_none() {
                // If there is no space for the note, only a takt that dies in the next moment
                // leaves a device that looks changed by another program. That is no reason to
                // keep the link.
                let _ = Record::note_leaving(managed.index);
            }
            let left = release.carry_out(&mut host.netlink, &managed.name())?;
            program.remove_link(managed.index)?;
            Record::forget(managed.index)?;
            undone.done.push(Reverted {
                device: managed.name(),
                left: left.as_ref().map(ToString::to_string),
            });
            undone.foreign.extend(left);
        }
        egress::sweep(&program)?;
        receive::sweep(&program, &mut host.netlink, host.netns_cookie)?;
        Conflicts::default().write(host.netns_cookie)?;
        Ok(undone)
    }

    fn source(host: &mut Host) -> Result<Option<Source>, Error> {
        let managed = Managed::all(host)?;
        let record = managed.into_iter().find_map(|managed| managed.record);
        Ok(record.map(|record| record.source))
    }

    fn status(host: &mut Host, query: Query) -> Result<Self::Status, Error> {
        status::of_links(host, query)
    }

    fn settle() -> Result<bool, Error> {
        match Program::open()? {
            Some(program) if !program.links()?.is_empty() => return Ok(true),
            Some(program) => program.unload()?,
            None => {}
        }
        // Without its record, a device of another version's could not be given back.
        Ok(Record::are_any())
    }

    fn verify(&self) -> Result<(), Error> {
        if self.program.is_none() && !self.steps.is_empty() {
            Program::verify()?;
        }
        if self.watches_sockets {
            Sockets::verify()?;
        }
        egress::asked_by(self.plans()).try_for_each(Writer::verify)?;
        if self.receives() {
            receive::verify_program()
        } else {
            Ok(())
        }
    }

    /// New links' maps, and the records.
    fn prepare(&mut self, host: &mut Host) -> Result<(), Error> {
        if self.steps.is_empty() {
            return Ok(());
        }
        let program = match self.program.take() {
            Some(program) => program,
            None => Program::load()?,
        };
        let program = self.program.insert(program);
        let buffers = self.buffers.insert(Buffers::open(&mut host.netlink)?);
        self.reached = Reached::Prepared;
        if self.watches_sockets {
            let sockets = Sockets::open_or_load()?;
            self.owners.ask(&sockets, host.netns_cookie, self.slot)?;
        }
        self.steps
            .iter_mut()
            .try_for_each(|step| prepare(program, host, buffers, step))
    }

    fn commit(&mut self, host: &mut Host) -> Result<(), Error> {
        let (Some(program), Some(buffers)) = (&self.program, &self.buffers) else {
            return Ok(());
        };
        let steps = &self.steps;
        // While the records that say who limited the queues are in force.
        for (device, limits) in leaving_limits(steps) {
            buffers.undo(device, limits)?;
        }
        receive::let_out(program, leaving_sides(steps))?;
        match devices::change(&mut host.netlink, steps) {
            Ok(not_restored) => host.not_restored.extend(not_restored),
            Err(unchanged) => {
                if unchanged.partly {
                    self.reached = Reached::DevicesPartly;
                }
                return Err(unchanged.error);
            }
        }
        self.reached = Reached::Devices;
        stage_sides(program, steps)?;
        program.commit(&switched(steps))?;
        self.reached = Reached::Plans;
        coming_limits(steps).try_for_each(|(device, limits)| buffers.limit(device, limits))
    }

    fn undo(&mut self, host: &mut Host) -> Vec<Error> {
        let (Some(program), Some(buffers)) = (&self.program, &self.buffers) else {
            return Vec::new();
        };
        let steps = &self.steps;
        let mut done = Vec::new();
        if self.reached >= Reached::Plans {
            // The previous plans are still staged, so a second commit restores them.
            done.push(program.commit(&switched(steps)));
        }
        if self.reached >= Reached::DevicesPartly {
            let partly = self.reached == Reached::DevicesPartly;
            let failures = devices::change_back(&mut host.netlink, steps, partly);
            done.extend(failures.into_iter().map(Err));
        }
        // The limits of unchanged plans stay.
        let changes = steps
            .iter()
            .filter(|step| !matches!(step, Step::Keep { .. }));
        for (device, limits) in changes.flat_map(|step| coming_limits(slice::from_ref(step))) {
            done.push(buffers.undo(device, limits));
        }
        for (device, limits) in leaving_limits(steps) {
            done.push(buffers.limit(device, limits));
        }
        done.push(receive::restore(program, leaving_sides(steps)));
        done.extend(steps.iter().map(|step| forget(program, step)));
        done.push(egress::sweep(program));
        done.push(receive::sweep(
            program,
            &mut host.netlink,
            host.netns_cookie,
        ));
        done.into_iter().filter_map(Result::err).collect()
    }

    fn tidy(&mut self, host: &mut Host) -> Result<(), Error> {
        let left = std::mem::take(&mut self.left);
        let released = outdated::release(left, self.program.as_ref(), &self.devices(), host)?;
        let not_restored = |foreign: &Foreign| matches!(foreign, Foreign::NotRestored { .. });
        let foreign = released.into_iter().filter_map(|(_, foreign)| foreign);
        host.not_restored.extend(foreign.filter(not_restored));
        let Some(program) = self.program.as_ref().filter(|_| !self.steps.is_empty()) else {
            return Ok(());
        };
        for step in &self.steps {
            match step {
                Step::Attach { record, lost, .. } => {
                    record.sweep()?;
                    if let Some(index) = lost {
                        program.remove_link(*index)?;
                        Record::forget(*index)?;
                    }
                }
                Step::Update { record, .. } => {
                    record.sweep()?;
                    if let Some(port) = program.port(record.index)? {
                        port.settle_line_rate();
                    }
                }
                Step::Keep { record } => record.sweep()?,
                Step::Detach { managed, .. } => {
                    program.remove_link(managed.index)?;
                    Record::forget(managed.index)?;
                }
            }
        }
        egress::sweep(program)?;
        receive::sweep(program, &mut host.netlink, host.netns_cookie)
    }
}

fn prepare(
    program: &Program,
    host: &mut Host,
    buffers: &Buffers,
    step: &mut Step,
) -> Result<(), Error> {
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
                receive::make(program, &mut host.netlink, record, wanted, plan)?;
            }
            program.add_link(record.index, record.owner, plan)?;
            egress::make(program, plan, record.index, record.owner.ifindex)?;
            record.write()
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
                receive::make(program, &mut host.netlink, record, wanted, plan)?;
            }
            program.stage_plan(record.index, plan)?;
            egress::make(program, plan, record.index, record.owner.ifindex)?;
            record.write()
        }
        Step::Detach { managed, release } if release.foreign.is_none() => {
            Record::note_leaving(managed.index)
        }
        Step::Keep { .. } | Step::Detach { .. } => Ok(()),
    }
}

/// What the device's queues may hold from now on.
fn note_queues(buffers: &Buffers, record: &mut Record, last: Option<&QueueLimits>) {
    let device = record.owner.ifindex;
    if let Some(limits) = &mut record.queue_limits {
        buffers.note(device, limits, last);
    }
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
            if found.map(|port| port.outline().generation) == Some(record.generation) {
                // The plan could not be switched back.
                Ok(())
            } else {
                record.discard()
            }
        }
        Step::Detach { managed, .. } => Record::note_staying(managed.index),
        Step::Keep { .. } => Ok(()),
    }
}

/// The links whose plans are switched in one call, and their receive sides that exist already.
fn switched(steps: &[Step]) -> Vec<u32> {
    let mut links = Vec::new();
    for step in steps {
        if let Step::Update {
            record, receive, ..
        } = step
        {
            links.push(record.index);
            let side = receive.as_ref().filter(|wanted| wanted.ifindex.is_some());
            links.extend(side.map(|wanted| wanted.index));
        }
    }
    links
}

/// After [`receive::let_out`], which stages plans of its own.
fn stage_sides(program: &Program, steps: &[Step]) -> Result<(), Error> {
    for step in steps {
        if let Step::Update {
            receive: Some(wanted),
            ..
        } = step
            && wanted.ifindex.is_some()
        {
            program.stage_plan(wanted.index, &wanted.plan)?;
        }
    }
    Ok(())
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

fn outcome(step: &Step) -> Outcome {
    let action = match step {
        Step::Attach { .. } => Action::Attached,
        Step::Update { .. } => Action::Updated,
        Step::Keep { .. } => Action::Unchanged,
        Step::Detach { .. } => Action::Detached,
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
        device: step.device(),
        action,
        backend: Backend::Takt,
        receive,
        without_ip: false,
        opaque: Vec::new(),
    }
}

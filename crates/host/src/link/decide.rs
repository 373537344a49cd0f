//! What applying a policy means for this host: which links are attached, updated, left alone or
//! given back. Reads what was found and changes nothing.

use std::collections::BTreeSet;

use takt_algo::{
    sys::{TAKT_LINKS, takt_plan},
    to_bytes,
};
use takt_planner::{ClassIds, Plan, PlanError, Questions, backend::NoBackend, plan};
use takt_policy::Link;
use thiserror::Error;

use crate::{
    error::Error,
    link::{
        LinkError,
        buffer::{self, QueueLimits},
        gap::{self, NoGap},
        managed::Managed,
        memory::Owner,
        on_device::{hardware_of, on_device},
        outdated::Left,
        proof,
        push_back::{self, NoPushBack},
        receive::{NoReceive, Side, Wanted, check},
        record::{Before, Record},
        segments,
        sockets::{NoUser, Slot},
        stations,
        takeover::{Release, release},
    },
    os::netlink::{Device, Port},
    part::Foreign,
    state::source::Source,
};

/// Links that this host cannot have. All but the last are the policy's fault.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    /// The network namespace has no device of this name.
    #[error("there is no device {device}")]
    NoDevice {
        /// As a link of the policy names it.
        device: String,
    },
    /// A link's matches do not fit into the kernel's tables.
    #[error("{device}: {problem}")]
    Plan {
        /// The link's.
        device: String,
        /// The table that is too small.
        problem: PlanError,
    },
    /// A link asks for gap frames on a device that cannot send them.
    #[error("{device}: {problem}")]
    NoGap {
        /// The link's.
        device: String,
        /// The reason.
        problem: NoGap,
    },
    /// A link is to go by a device that never stops its queue.
    #[error("{device}: {problem}")]
    NoPushBack {
        /// The link's.
        device: String,
        /// The reason.
        problem: NoPushBack,
    },
    /// A link is to delay incoming background packets on a device that does not allow it.
    #[error("{device}: {problem}")]
    NoReceive {
        /// The link's.
        device: String,
        /// The reason.
        problem: NoReceive,
    },
    /// No backend keeps what the policy asks for, on this kernel.
    #[error("{device}: {problem}")]
    NoBackend {
        /// The link's.
        device: String,
        /// What each backend lacks.
        problem: NoBackend,
    },
    /// A match names a user that cannot be looked up.
    #[error(transparent)]
    NoUser(#[from] NoUser),
    /// The host is in the way, or failed.
    #[error(transparent)]
    Host(#[from] Error),
}

/// What applying a policy does to one link.
pub(crate) enum Step {
    /// Attach takt's qdisc to a device.
    Attach {
        plan: Box<takt_plan>,
        receive: Option<Wanted>,
        record: Record,
        /// A link of the same device whose qdisc was removed by hand, and the limits that it
        /// set for the device's queues, if any.
        lost: Option<u32>,
        queue_limits: Option<QueueLimits>,
    },
    /// Give a link a new plan and, if named, a new segment limit.
    Update {
        /// The receive side until then.
        side: Option<Side>,
        plan: Box<takt_plan>,
        receive: Option<Wanted>,
        record: Record,
        segments: Option<SegmentLimit>,
        /// The limits of the device's queues until then, if any.
        queue_limits: Option<QueueLimits>,
    },
    /// The plan is unchanged.
    Keep { record: Record },
    /// The policy no longer names the device.
    Detach {
        managed: Box<Managed>,
        release: Release,
    },
}

impl Step {
    /// The device's name: as the policy has it, or of one that is given back, as the previous
    /// policy had it.
    pub fn device(&self) -> String {
        match self {
            Self::Attach { record, .. } | Self::Update { record, .. } | Self::Keep { record } => {
                record.device.clone()
            }
            Self::Detach { managed, .. } => managed.name(),
        }
    }

    /// The device's number.
    pub fn ifindex(&self) -> u32 {
        match self {
            Self::Attach { record, .. } | Self::Update { record, .. } | Self::Keep { record } => {
                record.owner.ifindex
            }
            Self::Detach { managed, .. } => managed.outline.owner.ifindex,
        }
    }
}

/// A new limit of segments per packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentLimit {
    pub from: u32,
    pub to: u32,
}

/// The state of the host before the change.
pub(crate) struct Found<'a> {
    pub netns_cookie: u64,
    pub ports: &'a [Port],
    pub managed: Vec<Managed>,
    /// Of links that the program does not have.
    pub left: &'a [Left],
    /// Links of all namespaces.
    pub indices_taken: BTreeSet<u32>,
    pub replace: &'a Replace,
}

/// On which devices takt may replace other qdiscs.
#[derive(Debug, Clone)]
pub(crate) enum Replace {
    None,
    All,
    /// Only on the devices with these numbers.
    Only(BTreeSet<u32>),
}

impl Replace {
    fn allows(&self, ifindex: u32) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(devices) => devices.contains(&ifindex),
        }
    }
}

/// Turn a policy into steps, or say why it cannot be applied. Its plans look up what is known
/// of sockets in this slot.
pub(crate) fn decide(
    links: &[Link],
    questions: &Questions,
    slot: Slot,
    source: &Source,
    mut found: Found,
) -> Result<Vec<Step>, Refusal> {
    let plan_link = |link: &Link, device: &Device, before: &ClassIds| -> Result<Plan, Refusal> {
        let hardware = hardware_of(link, device, found.ports);
        let link = &*on_device(link, device, hardware);
        let mut planned = plan(link, before, questions).map_err(|problem| Refusal::Plan {
            device: link.device.clone(),
            problem,
        })?;
        gap::check(device, &planned.tables).map_err(|problem| Refusal::NoGap {
            device: link.device.clone(),
            problem,
        })?;
        push_back::check(device, link).map_err(|problem| Refusal::NoPushBack {
            device: link.device.clone(),
            problem,
        })?;
        check(device, planned.receive.is_some()).map_err(|problem| Refusal::NoReceive {
            device: link.device.clone(),
            problem,
        })?;
        planned.tables.who_slot = slot.index;
        if link.has_stations {
            planned.tables.stations = stations::known_by(device);
        }
        Ok(planned)
    };
    let mut managed = std::mem::take(&mut found.managed);
    let taken = &mut std::mem::take(&mut found.indices_taken);
    let mut steps = Vec::with_capacity(links.len());
    for link in links {
        let port = found
            .ports
            .iter()
            .find(|port| port.device.is_called(&link.device))
            .ok_or_else(|| Refusal::NoDevice {
                device: link.device.clone(),
            })?;
        let known = managed
            .iter()
            .position(|managed| managed.outline.owner.ifindex == port.device.index)
            .map(|at| managed.swap_remove(at));
        steps.push(match known {
            Some(mut managed) if managed.record.is_some() && port.carries(managed.index) => {
                let Some(record) = managed.record.take() else {
                    continue;
                };
                let planned = plan_link(link, &port.device, &record.ids)?;
                update(link, planned, source, port, managed, record, taken)?
            }
            lost => {
                let lost = match lost {
                    Some(lost) => Some(Lost::new(lost)),
                    None => left_on(port, found.left),
                };
                let planned = plan_link(link, &port.device, &ClassIds::default())?;
                attach(link, planned, source, port, lost, taken, &found)?
            }
        });
    }
    steps.extend(managed.into_iter().map(|managed| {
        let release = release(&managed, managed.port(found.ports));
        let managed = Box::new(managed);
        Step::Detach { managed, release }
    }));
    Ok(steps)
}

/// Refuse to replace another program's root qdisc, unless the user has said so and it is proved to
/// come back.
pub(crate) fn refuse_foreign_root(
    device: &str,
    port: &Port,
    replace: &Replace,
) -> Result<(), Error> {
    let Some(root) = port.root.as_ref().filter(|_| !port.is_given_back) else {
        return Ok(());
    };
    if !replace.allows(port.device.index) {
        return Err(Foreign::NeedsReplace {
            device: device.to_owned(),
            kind: root.kind.clone(),
            handle: root.handle.to_string(),
        }
        .into());
    }
    match port.below_root {
        Some(what) => Err(Foreign::Irreplaceable {
            device: device.to_owned(),
            kind: root.kind.clone(),
            handle: root.handle.to_string(),
            what,
        }
        .into()),
        None => proof::require(device, port),
    }
}

/// A link of a device whose qdisc is gone, has no record, or is of another version.
struct Lost {
    index: u32,
    record: Option<Record>,
}

impl Lost {
    fn new(managed: Managed) -> Self {
        Self {
            index: managed.index,
            record: managed.record,
        }
    }
}

/// The one that the device carries, or carried.
fn left_on(port: &Port, left: &[Left]) -> Option<Lost> {
    let of_device =
        || { left.iter() }.filter(|left| left.record.owner.ifindex == port.device.index);
    let found = { of_device().find(|left| left.is_on(port)) }.or_else(|| of_device().next())?;
    Some(Lost {
        index: found.index,
        record: Some(found.record.clone()),
    })
}

fn next_index(taken: &mut BTreeSet<u32>) -> Result<u32, Error> {
    let index =
        (0..TAKT_LINKS)
            .find(|index| !taken.contains(index))
            .ok_or(LinkError::TooManyLinks {
                link_count: taken.len(),
            })?;
    taken.insert(index);
    Ok(index)
}

fn attach(
    link: &Link,
    Plan {
        mut tables,
        receive,
        ids,
    }: Plan,
    source: &Source,
    port: &Port,
    lost: Option<Lost>,
    taken: &mut BTreeSet<u32>,
    found: &Found,
) -> Result<Step, Refusal> {
    let index = next_index(taken)?;
    let lost_index = lost.as_ref().map(|lost| lost.index);
    // A takt qdisc without a record is no other program's.
    let ours = lost.as_ref().filter(|lost| port.carries(lost.index));
    let standing = match ours {
        Some(ours) => { ours.record.as_ref() }.and_then(|record| record.before.qdisc.clone()),
        None => {
            refuse_foreign_root(&link.device, port, found.replace)?;
            port.root.clone()
        }
    };
    let limited = lost
        .as_ref()
        .and_then(|lost| lost.record.as_ref()?.queue_limits.clone());
    // Removing takt's qdisc by hand does not restore the segment limit.
    let gso_before = lost
        .and_then(|lost| lost.record)
        .filter(|record| record.gso_max_segs == Some(port.device.gso_max_segs))
        .map_or(port.device.gso_max_segs, |record| {
            record.before.gso_max_segs
        });

    tables.generation = 1;
    let record = Record {
        index,
        generation: 1,
        device: link.device.clone(),
        owner: Owner {
            ifindex: port.device.index,
            netns_cookie: found.netns_cookie,
        },
        source: source.clone(),
        ids,
        gso_max_segs: segments::limit(link, &port.device, gso_before),
        before: Before {
            qdisc: standing,
            gso_max_segs: gso_before,
        },
        queue_limits: queue_limits(link, port),
    };
    let receive = receive
        .map(|plan| Wanted::new(plan, None, || next_index(taken)))
        .transpose()?;
    Ok(Step::Attach {
        plan: tables,
        receive,
        record,
        lost: lost_index,
        queue_limits: limited,
    })
}

fn update(
    link: &Link,
    Plan {
        mut tables,
        receive,
        ids,
    }: Plan,
    source: &Source,
    port: &Port,
    managed: Managed,
    before: Record,
    taken: &mut BTreeSet<u32>,
) -> Result<Step, Refusal> {
    let (current, side) = (&managed.plan, managed.receive.as_ref());
    let mut receive = receive
        .map(|plan| Wanted::new(plan, side, || next_index(taken)))
        .transpose()?;
    let same_side = match &receive {
        Some(wanted) => wanted.is(side),
        None => current.receive_ifindex == 0,
    };
    if let Some(side) = side.filter(|_| receive.is_some()) {
        (tables.receive_link, tables.receive_ifindex) = (side.index, side.ifindex);
    }

    let gso_max_segs = segments::limit(link, &port.device, before.before.gso_max_segs);
    let segments = SegmentLimit {
        from: port.device.gso_max_segs,
        to: gso_max_segs.unwrap_or(before.before.gso_max_segs),
    };
    let segments = (segments.from != segments.to).then_some(segments);

    tables.generation = current.generation;
    let same_plan = before.source == *source && to_bytes(&*tables) == to_bytes(&**current);
    let queue_limits = queue_limits(link, port);
    let limit_bytes = |limits: &Option<QueueLimits>| limits.as_ref().map(|l| l.limit_bytes);
    let same_buffer = limit_bytes(&queue_limits) == limit_bytes(&before.queue_limits);
    if segments.is_none() && same_plan && same_side && same_buffer && managed.lacks.is_none() {
        return Ok(Step::Keep { record: before });
    }
    tables.generation += 1;
    if let Some(wanted) = &mut receive {
        // After the plan that lets blocked packets out.
        wanted.plan.generation += 2;
    }
    let limited = before.queue_limits.clone();
    let record = Record {
        generation: tables.generation,
        // The device may have another name by now.
        device: link.device.clone(),
        source: source.clone(),
        ids,
        gso_max_segs,
        queue_limits,
        ..before
    };
    Ok(Step::Update {
        side: managed.receive,
        plan: tables,
        receive,
        record,
        segments,
        queue_limits: limited,
    })
}

/// The present qdisc is not known yet.
fn queue_limits(link: &Link, port: &Port) -> Option<QueueLimits> {
    let limit_bytes = buffer::wanted(link, &port.device)?;
    Some(QueueLimits::new(limit_bytes, &[], None))
}

//! What applying a policy means for this host: which links are attached,
//! updated, left alone or let go. Looks at what was found and changes nothing.

use std::collections::BTreeSet;

use takt_algo::{
    sys::{TAKT_LINKS, takt_plan},
    to_bytes,
};
use takt_planner::{ClassIds, Plan, PlanError, Questions, plan};
use takt_policy::{Link, Packets};
use thiserror::Error;

use crate::{
    change::{Release, release},
    error::{Error, Foreign},
    gap::{self, NoGap},
    managed::{Managed, Port},
    netlink::Device,
    port::Owner,
    record::{Before, Record, Source},
    sockets::{NoUser, Slot},
};

/// One segment per packet, so that every frame has a moment of its own.
const SINGLE_SEGMENT: u32 = 1;

/// A policy that this host cannot carry. All but the last are the policy's fault.
#[derive(Debug, Error)]
pub enum Undecided {
    #[error("there is no device {device}")]
    NoDevice { device: String },
    #[error("{device}: {problem}")]
    Plan { device: String, problem: PlanError },
    #[error("{device}: {problem}")]
    NoGap { device: String, problem: NoGap },
    #[error(transparent)]
    NoUser(#[from] NoUser),
    #[error(transparent)]
    Host(#[from] Error),
}

/// One link's part in applying a policy.
pub(crate) enum Step {
    /// Put takt on a device.
    Attach {
        plan: Box<takt_plan>,
        record: Record,
        /// A link of the same device whose qdisc somebody took away.
        lost: Option<u32>,
    },
    /// Give a link a new plan and, if named, a new segment limit.
    Update {
        plan: Box<takt_plan>,
        record: Record,
        gso_max_segs: Option<u32>,
    },
    /// The same policy again.
    Keep { record: Record },
    /// The policy no longer names the device.
    Detach { managed: Managed, release: Release },
}

/// What stands on the host before anything is done.
pub(crate) struct Found {
    pub netns_cookie: u64,
    pub ports: Vec<Port>,
    pub managed: Vec<Managed>,
    /// Links of all namespaces.
    pub indices_taken: BTreeSet<u32>,
    /// Whether takt may take the place of other qdiscs.
    pub replace: bool,
}

/// Where the policy's questions go: not where plans in force look for the answers
/// to others. After a takt that died between two devices there may be no such
/// place; then these are overwritten, and wrong until the plans follow.
pub(crate) fn slot(source: &Source, managed: &[Managed]) -> Slot {
    let same = |managed: &&Managed| {
        let record = managed.record.as_ref();
        record.is_some_and(|record| record.source == *source)
    };
    match (managed.iter().find(same), managed.first()) {
        (Some(same), _) => Slot {
            index: same.plan.who_slot,
            in_force: true,
        },
        (None, other) => Slot {
            index: other.map_or(0, |other| 1 - other.plan.who_slot),
            in_force: false,
        },
    }
}

/// Turn a policy into steps, or say why it cannot be carried. Its plans look in
/// this slot for what is known of sockets.
pub(crate) fn decide(
    links: &[Link],
    questions: &Questions,
    slot: Slot,
    source: &Source,
    mut found: Found,
) -> Result<Vec<Step>, Undecided> {
    let plan_link = |link: &Link, device: &Device, before: &ClassIds| -> Result<Plan, Undecided> {
        let mut planned = plan(link, before, questions).map_err(|problem| Undecided::Plan {
            device: link.device.clone(),
            problem,
        })?;
        gap::check(device, &planned.tables).map_err(|problem| Undecided::NoGap {
            device: link.device.clone(),
            problem,
        })?;
        planned.tables.who_slot = slot.index;
        Ok(planned)
    };
    let mut managed = std::mem::take(&mut found.managed);
    let mut steps = Vec::with_capacity(links.len());
    for link in links {
        let port = found
            .ports
            .iter()
            .find(|port| port.device.name == link.device)
            .ok_or_else(|| Undecided::NoDevice {
                device: link.device.clone(),
            })?;
        let known = managed
            .iter()
            .position(|managed| managed.state.ifindex == port.device.index)
            .map(|at| managed.swap_remove(at));
        steps.push(match known {
            Some(Managed {
                index,
                plan,
                record: Some(record),
                ..
            }) if port.carries(index) => {
                let planned = plan_link(link, &port.device, &record.ids)?;
                update(link, planned, source, port, &plan, record)
            }
            lost => {
                let index = (0..TAKT_LINKS)
                    .find(|index| !found.indices_taken.contains(index))
                    .ok_or(Error::TooManyLinks {
                        link_count: found.indices_taken.len(),
                    })?;
                found.indices_taken.insert(index);
                let planned = plan_link(link, &port.device, &ClassIds::default())?;
                attach(link, planned, source, port, index, lost, &found)?
            }
        });
    }
    steps.extend(managed.into_iter().map(|managed| {
        let release = release(&managed, managed.port(&found.ports));
        Step::Detach { managed, release }
    }));
    Ok(steps)
}

fn attach(
    link: &Link,
    Plan { mut tables, ids }: Plan,
    source: &Source,
    port: &Port,
    index: u32,
    lost: Option<Managed>,
    found: &Found,
) -> Result<Step, Undecided> {
    let lost_index = lost.as_ref().map(|lost| lost.index);
    // An orphan of ours (its record is gone) is nobody else's.
    let ours = lost_index.is_some_and(|index| port.carries(index));
    let standing = port.root.clone().filter(|_| !ours);
    if let Some(root) = &standing {
        if !found.replace {
            return Err(Error::from(Foreign::NeedsReplace {
                device: link.device.clone(),
                kind: root.kind.clone(),
                handle: root.handle.to_string(),
            })
            .into());
        }
        if let Some(what) = port.below_root {
            return Err(Error::from(Foreign::Irreplaceable {
                device: link.device.clone(),
                kind: root.kind.clone(),
                handle: root.handle.to_string(),
                what,
            })
            .into());
        }
    }
    // Whoever took our qdisc away did not know of the segment limit.
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
        gso_max_segs: segment_limit(link),
        before: Before {
            qdisc: standing,
            gso_max_segs: gso_before,
        },
    };
    Ok(Step::Attach {
        plan: tables,
        record,
        lost: lost_index,
    })
}

fn update(
    link: &Link,
    Plan { mut tables, ids }: Plan,
    source: &Source,
    port: &Port,
    current: &takt_plan,
    before: Record,
) -> Step {
    let gso_max_segs = segment_limit(link);
    let wanted = gso_max_segs.unwrap_or(before.before.gso_max_segs);
    let limit = (port.device.gso_max_segs != wanted).then_some(wanted);

    tables.generation = current.generation;
    if limit.is_none() && before.source == *source && to_bytes(&*tables) == to_bytes(current) {
        return Step::Keep { record: before };
    }
    tables.generation += 1;
    let record = Record {
        generation: tables.generation,
        source: source.clone(),
        ids,
        gso_max_segs,
        ..before
    };
    Step::Update {
        plan: tables,
        record,
        gso_max_segs: limit,
    }
}

fn segment_limit(link: &Link) -> Option<u32> {
    match link.packets {
        Packets::Mtu => Some(SINGLE_SEGMENT),
        Packets::Gso => None,
    }
}

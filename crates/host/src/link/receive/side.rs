//! The receive side of one link: the device, its qdisc and its plan.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use takt_algo::{Plain, sys::takt_plan, to_bytes, zeroed_box};
use takt_planner::open_receive;

use super::{NAME, entry, make_device};
use crate::{
    error::Error,
    link::{
        memory::{Owner, PortMemory},
        program::Program,
        record::Record,
        takeover::qdisc_of,
    },
    os::{
        OsError,
        netlink::{Netlink, Port},
    },
};

/// How long blocked packets may take to leave before plans change, and how often takt checks.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(1);

/// The name of the device through which packets of the device with this number are sent.
pub(crate) fn name_of(device: u32) -> String {
    format!("{NAME}{device}")
}

/// A receive side that a plan in force names.
pub(crate) struct Side {
    /// The number of its link.
    pub index: u32,
    pub ifindex: u32,
    pub memory: Arc<PortMemory>,
    pub plan: Box<takt_plan>,
    /// Its device carries its qdisc, and packets are sent there.
    pub is_attached: bool,
}

impl Side {
    /// The receive side of the link with this plan in force; `None` if it has none.
    pub(crate) fn read(
        program: &Program,
        link: u32,
        owner: Owner,
        plan: &takt_plan,
        ports: &[Port],
    ) -> Result<Option<Self>, Error> {
        if plan.receive_ifindex == 0 {
            return Ok(None);
        }
        let Some(memory) = program.port(plan.receive_link)? else {
            return Ok(None);
        };
        let is_up = ports
            .iter()
            .any(|port| port.device.index == plan.receive_ifindex && port.device.up);
        let entered = entry::of(program, link).is_attached_to(owner.ifindex);
        Ok(Some(Self {
            index: plan.receive_link,
            ifindex: plan.receive_ifindex,
            is_attached: is_up
                && entered
                && memory.is_attached()
                && memory.outline().owner.ifindex == plan.receive_ifindex,
            plan: memory.plan(),
            memory,
        }))
    }
}

/// A receive side that a plan will name.
pub(crate) struct Wanted {
    /// The number of its link.
    pub index: u32,
    /// `None`: it has yet to be made.
    pub ifindex: Option<u32>,
    pub plan: Box<takt_plan>,
}

impl Wanted {
    /// Keep the existing one, if it works; else make one with this number.
    pub(crate) fn new(
        mut plan: Box<takt_plan>,
        standing: Option<&Side>,
        number: impl FnOnce() -> Result<u32, Error>,
    ) -> Result<Self, Error> {
        let standing = standing.filter(|side| side.is_attached);
        plan.generation = standing.map_or(1, |side| side.plan.generation);
        Ok(Self {
            index: standing.map_or_else(number, |side| Ok(side.index))?,
            ifindex: standing.map(|side| side.ifindex),
            plan,
        })
    }

    /// Whether it exists already and would follow the same plan.
    pub(crate) fn is(&self, side: Option<&Side>) -> bool {
        side.is_some_and(|side| {
            self.ifindex == Some(side.ifindex) && to_bytes(&*self.plan) == to_bytes(&*side.plan)
        })
    }
}

/// Make it, invisibly, if it has yet to be made, and have the link's next plan name it.
pub(crate) fn make(
    program: &Program,
    netlink: &mut Netlink,
    record: &Record,
    wanted: &Wanted,
    plan: &mut takt_plan,
) -> Result<(), Error> {
    let device = record.owner.ifindex;
    plan.receive_link = wanted.index;
    plan.receive_ifindex = match wanted.ifindex {
        Some(ifindex) => ifindex,
        None => {
            let name = name_of(device);
            let ifindex = make_device(netlink, &name, &record.device)?;
            let owner = Owner {
                ifindex,
                ..record.owner
            };
            program.add_link(wanted.index, owner, &wanted.plan)?;
            netlink
                .all(&[qdisc_of(wanted.index).set_root(ifindex)])
                .map_err(OsError::netlink(format!("putting takt on {name}")))?;
            entry::attach(program, record.index, device)?;
            ifindex
        }
    };
    Ok(())
}

/// Open the gate and let out what it blocks, so that packets which are no longer delayed, or
/// take another way, overtake nothing.
pub(crate) fn let_out<'a>(
    program: &Program,
    sides: impl Iterator<Item = &'a Side>,
) -> Result<(), Error> {
    let sides: Vec<&Side> = sides.filter(|side| side.is_attached).collect();
    for side in &sides {
        let mut plan = copy_of(&*side.plan);
        open_receive(&mut plan);
        plan.generation += 1;
        program.stage_plan(side.index, &plan)?;
    }
    let indices: Vec<u32> = sides.iter().map(|side| side.index).collect();
    program.commit(&indices)?;
    let until = Instant::now() + PATIENCE;
    for side in sides {
        let Some(port) = program.port(side.index)? else {
            continue;
        };
        while port.outline().queued_packets > 0 && Instant::now() < until {
            thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Restore the gate as it was before [`let_out`].
pub(crate) fn restore<'a>(
    program: &Program,
    sides: impl Iterator<Item = &'a Side>,
) -> Result<(), Error> {
    let mut indices = Vec::new();
    for side in sides.filter(|side| side.is_attached) {
        let mut plan = copy_of(&*side.plan);
        // After the two generations that may have been in force meanwhile.
        plan.generation += 3;
        program.stage_plan(side.index, &plan)?;
        indices.push(side.index);
    }
    program.commit(&indices)
}

fn copy_of<T: Plain>(from: &T) -> Box<T> {
    let mut copy = zeroed_box();
    // SAFETY: two distinct valid values of integers only.
    unsafe { std::ptr::copy_nonoverlapping(from, &raw mut *copy, 1) };
    copy
}

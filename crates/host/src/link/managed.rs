//! The links that takt manages in this network namespace, and their state.

use std::sync::Arc;

use takt_algo::sys::takt_plan;

use crate::{
    error::Error,
    link::{
        egress::{self, Writer},
        memory::{GapCounters, Outline, PortMemory},
        program::{Program, handle_of},
        receive::Side,
        record::Record,
    },
    os::netlink::{Handle, Port, TAKT},
    part::Host,
};

impl Port {
    /// Whether the root qdisc is the one that takt attached for link `index`.
    pub(crate) fn carries(&self, index: u32) -> bool {
        self.root
            .as_ref()
            .is_some_and(|root| root.kind == TAKT && root.handle == Handle(handle_of(index)))
    }
}

/// A link that takt manages.
pub(crate) struct Managed {
    pub index: u32,
    pub memory: Arc<PortMemory>,
    /// As of the moment when it was found, like the following fields.
    pub outline: Outline,
    pub plan: Box<takt_plan>,
    pub gap: GapCounters,
    /// A program that the plan needs and that is no more on the device's egress.
    pub lacks: Option<Writer>,
    /// The receive side for incoming background packets.
    pub receive: Option<Side>,
    /// `None` if the file was removed by hand.
    pub record: Option<Record>,
}

impl Managed {
    /// Remove links that are no longer in use: those of a takt that died before it attached
    /// them or after it detached them, and those whose devices are gone, most likely with their
    /// namespace. Under the lock no other takt is at work.
    pub(crate) fn sweep(program: &Program, netns_cookie: u64, ports: &[Port]) -> Result<(), Error> {
        for index in program.links()? {
            let Some(port) = program.port(index)? else {
                continue;
            };
            let Outline {
                owner,
                attached,
                gone,
                ..
            } = port.outline();
            let here = owner.netns_cookie == netns_cookie;
            let lost = !attached || (here && was_given_back(index, ports)) || (!here && gone);
            if lost {
                program.remove_link(index)?;
                Record::forget(index)?;
            }
        }
        Ok(())
    }

    /// The links of a namespace with these ports: all that were attached, except those that
    /// takt itself has given back.
    pub(crate) fn list(
        program: &Program,
        netns_cookie: u64,
        ports: &[Port],
    ) -> Result<Vec<Self>, Error> {
        let mut found = Vec::new();
        for index in program.links()? {
            let Some(memory) = program.port(index)? else {
                continue;
            };
            let outline = memory.outline();
            if !outline.receives
                && outline.owner.netns_cookie == netns_cookie
                && outline.attached
                && !was_given_back(index, ports)
            {
                let plan = memory.plan();
                found.push(Self {
                    index,
                    gap: memory.gap(),
                    lacks: egress::missing(program, &plan, index, outline.owner.ifindex),
                    receive: Side::read(program, index, outline.owner, &plan, ports)?,
                    record: Record::read(index, plan.generation)?,
                    memory,
                    outline,
                    plan,
                });
            }
        }
        Ok(found)
    }

    /// Those of this network namespace.
    pub(crate) fn all(host: &mut Host) -> Result<Vec<Self>, Error> {
        match Program::open()? {
            Some(program) => Self::list(&program, host.netns_cookie, &host.ports()?),
            None => Ok(Vec::new()),
        }
    }

    /// The device's name, as it was when takt came.
    pub(crate) fn name(&self) -> String {
        match &self.record {
            Some(record) => record.device.clone(),
            None => format!("device {}", self.outline.owner.ifindex),
        }
    }

    /// The device of this link, if it still exists.
    pub(crate) fn port<'a>(&self, ports: &'a [Port]) -> Option<&'a Port> {
        ports
            .iter()
            .find(|port| port.device.index == self.outline.owner.ifindex)
    }
}

/// Whether takt began to give a link's device back, and removed the qdisc.
fn was_given_back(index: u32, ports: &[Port]) -> bool {
    Record::is_leaving(index) && !ports.iter().any(|port| port.carries(index))
}

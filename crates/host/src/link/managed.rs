//! The links that takt manages in this network namespace, and their state.

use std::sync::Arc;

use takt_algo::sys::takt_plan;

use crate::{
    error::Error,
    link::{
        memory::{GapCounters, Outline, PortMemory},
        program::{Program, handle_of},
        receive::Side,
        record::Record,
    },
    os::netlink::{Device, Handle, Netlink, NetlinkError, Qdisc},
};

pub(crate) const KIND: &str = "takt";

/// A device and its root qdisc.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub device: Device,
    /// `None`: the kernel's default.
    pub root: Option<Qdisc>,
    /// What hangs below the root and could not be restored, if anything.
    pub below_root: Option<&'static str>,
}

/// Qdiscs that make their classes themselves, so that restoring the qdisc restores them.
const MAKES_ITS_OWN_CLASSES: [&str; 9] = [
    "mq", "fq", "fq_codel", "fq_pie", "sfq", "cake", "prio", "multiq", "tbf",
];

impl Port {
    /// Every device of the namespace.
    pub(crate) fn list(netlink: &mut Netlink) -> Result<Vec<Self>, Error> {
        let devices = Device::list(netlink).map_err(Error::netlink("listing devices"))?;
        let mut ports = Vec::with_capacity(devices.len());
        for device in devices {
            let port = Self::read(netlink, device).map_err(Error::netlink("listing qdiscs"))?;
            ports.push(port);
        }
        Ok(ports)
    }

    fn read(netlink: &mut Netlink, device: Device) -> Result<Self, NetlinkError> {
        let qdiscs = Qdisc::list(netlink, device.index)?;
        let set = |qdisc: &&Qdisc| qdisc.handle != Handle::DEFAULT;
        let is_root = |qdisc: &&Qdisc| qdisc.parent == Handle::ROOT;
        let ingress = |qdisc: &&Qdisc| matches!(qdisc.kind.as_str(), "ingress" | "clsact");
        let root = qdiscs.iter().filter(is_root).find(set).cloned();
        let below_root = match &root {
            None => None,
            Some(root) if root.kind == KIND => None,
            Some(_)
                if qdiscs
                    .iter()
                    .filter(set)
                    .any(|q| !is_root(&q) && !ingress(&q)) =>
            {
                Some("further qdiscs")
            }
            Some(_) if !Qdisc::list_filters(netlink, device.index)?.is_empty() => Some("filters"),
            Some(root)
                if !MAKES_ITS_OWN_CLASSES.contains(&root.kind.as_str())
                    && !Qdisc::list_classes(netlink, device.index)?.is_empty() =>
            {
                Some("classes")
            }
            Some(_) => None,
        };
        Ok(Self {
            device,
            root,
            below_root,
        })
    }

    pub(crate) fn describe_root(&self) -> String {
        match &self.root {
            Some(root) => format!("{} {}", root.kind, root.handle),
            None => "the kernel's default".to_owned(),
        }
    }

    /// Whether the root qdisc is the one that takt attached for link `index`.
    pub(crate) fn carries(&self, index: u32) -> bool {
        self.root
            .as_ref()
            .is_some_and(|root| root.kind == KIND && root.handle == Handle(handle_of(index)))
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

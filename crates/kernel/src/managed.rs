//! Which links takt manages in this network namespace, and how they stand.

use takt_algo::sys::{takt_link, takt_plan};

use crate::{
    error::Error,
    netlink::{Device, Handle, Netlink, NetlinkError, Qdisc},
    port::{GapCounters, Snapshot},
    program::{Program, handle_of},
    receive::Side,
    record::Record,
};

pub(crate) const KIND: &str = "takt";

/// A device and what stands at its root.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub device: Device,
    /// `None`: the kernel's default.
    pub root: Option<Qdisc>,
    /// What hangs below the root and could not be put back, if anything.
    pub below_root: Option<&'static str>,
}

/// Qdiscs whose classes are of their own making and come back with them.
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
    pub state: Box<takt_link>,
    pub plan: Box<takt_plan>,
    pub gap: GapCounters,
    /// Where incoming packets in the background are sent through.
    pub receive: Option<Side>,
    /// Missing if somebody deleted it.
    pub record: Option<Record>,
}

impl Managed {
    /// Clear away links that nobody will come back for: those of a takt that
    /// died before it attached them or after it detached them, and those whose
    /// devices are gone, most likely with their namespace. Under the lock, no
    /// other takt is at it.
    pub(crate) fn sweep(program: &Program, netns_cookie: u64, ports: &[Port]) -> Result<(), Error> {
        for index in program.links()? {
            let lost = program.read(index)?.is_some_and(|Snapshot { link, .. }| {
                let here = link.netns_cookie == netns_cookie;
                link.attached == 0
                    || (here && was_given_back(index, ports))
                    || (!here && link.gone != 0)
            });
            if lost {
                program.remove_link(index)?;
                Record::forget(index)?;
            }
        }
        Ok(())
    }

    /// The links of a namespace, whose ports are these: all that were attached,
    /// but for those that takt itself has given back.
    pub(crate) fn list(
        program: &Program,
        netns_cookie: u64,
        ports: &[Port],
    ) -> Result<Vec<Self>, Error> {
        let mut found = Vec::new();
        for index in program.links()? {
            let Some(Snapshot {
                link: state,
                plan,
                gap,
                ..
            }) = program.read(index)?
            else {
                continue;
            };
            if plan.receives == 0
                && state.netns_cookie == netns_cookie
                && state.attached != 0
                && !was_given_back(index, ports)
            {
                let record = Record::read(index, plan.generation)?;
                let receive = Side::read(program, index, &state, &plan, ports)?;
                found.push(Self {
                    index,
                    state,
                    plan,
                    gap,
                    receive,
                    record,
                });
            }
        }
        Ok(found)
    }

    /// The device's name, as it was when takt came.
    pub(crate) fn name(&self) -> String {
        match &self.record {
            Some(record) => record.device.clone(),
            None => format!("device {}", self.state.ifindex),
        }
    }

    /// The device this link belongs to, if it still exists.
    pub(crate) fn port<'a>(&self, ports: &'a [Port]) -> Option<&'a Port> {
        ports
            .iter()
            .find(|port| port.device.index == self.state.ifindex)
    }
}

/// Whether takt began to give a link's device back, and got that far.
fn was_given_back(index: u32, ports: &[Port]) -> bool {
    Record::is_leaving(index) && !ports.iter().any(|port| port.carries(index))
}

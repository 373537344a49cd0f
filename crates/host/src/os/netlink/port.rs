//! A device and the qdisc at its root.

use super::{Device, Handle, Netlink, NetlinkError, Qdisc};
use crate::{error::Error, os::OsError};

/// The kind of takt's own qdisc.
pub(crate) const TAKT: &str = "takt";

/// A device and its root qdisc.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub device: Device,
    /// `None`: the kernel's default.
    pub root: Option<Qdisc>,
    /// What hangs below the root and could not be restored, if anything.
    pub below_root: Option<&'static str>,
    /// The root is not there yet: takt gives it back first, and may take the device again.
    pub is_given_back: bool,
}

/// Qdiscs that make their classes themselves, so that restoring the qdisc restores them.
const MAKES_ITS_OWN_CLASSES: [&str; 9] = [
    "mq", "fq", "fq_codel", "fq_pie", "sfq", "cake", "prio", "multiq", "tbf",
];

impl Port {
    /// Every device of the namespace.
    pub(crate) fn list(netlink: &mut Netlink) -> Result<Vec<Self>, Error> {
        let devices = Device::list(netlink).map_err(OsError::netlink("listing devices"))?;
        let mut ports = Vec::with_capacity(devices.len());
        for device in devices {
            let port = Self::read(netlink, device).map_err(OsError::netlink("listing qdiscs"))?;
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
            Some(root) if root.kind == TAKT => None,
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
            is_given_back: false,
        })
    }

    pub(crate) fn describe_root(&self) -> String {
        match &self.root {
            Some(root) => format!("{} {}", root.kind, root.handle),
            None => "the kernel's default".to_owned(),
        }
    }
}

//! Limiting devices' queues, and removing the limits.

use std::collections::BTreeMap;

use super::{Queue, QueueLimits};
use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{Device, Netlink},
        sysfs::Sysfs,
    },
};

/// The queues of this namespace's devices.
pub(crate) struct Buffers {
    /// `None` without the privilege: then no queue is limited.
    sysfs: Option<Sysfs>,
    names: BTreeMap<u32, String>,
}

impl Buffers {
    pub(crate) fn open(netlink: &mut Netlink) -> Result<Self, Error> {
        let devices = Device::list(netlink).map_err(OsError::netlink("listing devices"))?;
        Ok(Self {
            sysfs: Sysfs::mount(),
            names: devices
                .into_iter()
                .map(|device| (device.index, device.name))
                .collect(),
        })
    }

    /// Empty if the device is gone or its queues have no limits.
    pub(crate) fn queues(&self, device: u32) -> Vec<Queue> {
        self.at(device)
            .map(|(sysfs, name)| sysfs.queues(name))
            .unwrap_or_default()
    }

    /// The present queues, for a record of what will be limited.
    pub(crate) fn note(&self, device: u32, limits: &mut QueueLimits, last: Option<&QueueLimits>) {
        *limits = QueueLimits::new(limits.limit_bytes, &self.queues(device), last);
    }

    pub(crate) fn limit(&self, device: u32, limits: &QueueLimits) -> Result<(), Error> {
        self.at(device).map_or(Ok(()), |(sysfs, name)| {
            sysfs.change(name, &limits.set(&sysfs.queues(name)))
        })
    }

    pub(crate) fn undo(&self, device: u32, limits: &QueueLimits) -> Result<(), Error> {
        self.at(device).map_or(Ok(()), |(sysfs, name)| {
            sysfs.change(name, &limits.undo(&sysfs.queues(name)))
        })
    }

    fn at(&self, device: u32) -> Option<(&Sysfs, &str)> {
        Some((self.sysfs.as_ref()?, self.names.get(&device)?))
    }
}

//! How long the packets may be that the kernel merges of what a device receives (GRO). On a slow line
//! one of 64 KB takes longer than others can wait; it would wait as a whole.

use serde::{Deserialize, Serialize};
use takt_planner::segments::merged_bytes_most;
use takt_policy::Link;

use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{Device, Netlink, NetlinkError},
    },
};

/// A device's limit by takt, and those before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Merged {
    pub limit_bytes: u32,
    pub before_bytes: u32,
    /// `None`: the kernel has but one.
    pub before_ipv4_bytes: Option<u32>,
}

impl Merged {
    /// The limit that a download sets on its device; `None`: it leaves that, or the kernel has none
    /// (before 5.19). `known`: what takt has set already.
    pub fn wanted(link: &Link, device: &Device, known: Option<&Self>) -> Option<Self> {
        let limit_bytes = merged_bytes_most(link, device.mtu_bytes)?;
        let now = device.gro_max_bytes?;
        let ours = known.filter(|known| known.limit_bytes == now);
        let wanted = Self {
            limit_bytes,
            before_bytes: ours.map_or(now, |known| known.before_bytes),
            before_ipv4_bytes: match ours {
                Some(known) => known.before_ipv4_bytes,
                None => device.gro_max_ipv4_bytes,
            },
        };
        (limit_bytes < wanted.before_bytes).then_some(wanted)
    }

    pub fn set(&self, netlink: &mut Netlink, device: u32) -> Result<(), Error> {
        // The kernel takes it for IPv4 as well.
        limit(netlink, device, self.limit_bytes, None)
    }

    /// Restore the limits before, if the device still has takt's.
    pub fn restore(&self, netlink: &mut Netlink, device: u32) -> Result<(), Error> {
        let doing = OsError::netlink("listing devices");
        let devices = Device::list(netlink).map_err(doing)?;
        let is_ours =
            |found: &Device| found.index == device && found.gro_max_bytes == Some(self.limit_bytes);
        if devices.iter().any(is_ours) {
            limit(netlink, device, self.before_bytes, self.before_ipv4_bytes)
        } else {
            Ok(())
        }
    }
}

/// A device that is gone has none.
fn limit(
    netlink: &mut Netlink,
    device: u32,
    bytes: u32,
    ipv4_bytes: Option<u32>,
) -> Result<(), Error> {
    let requests: Vec<_> = [Some(Device::limit_merged(device, bytes))]
        .into_iter()
        .chain([ipv4_bytes.map(|bytes| Device::limit_merged_ipv4(device, bytes))])
        .flatten()
        .collect();
    let doing = "limiting what a device merges";
    let answers = netlink.batch(&requests).map_err(OsError::netlink(doing))?;
    let mut refused = answers.into_iter().filter_map(Result::err);
    match refused.find(|refusal| refusal.errno != libc::ENODEV) {
        Some(refusal) => Err(OsError::netlink(doing)(NetlinkError::Refused(refusal))),
        None => Ok(()),
    }
}

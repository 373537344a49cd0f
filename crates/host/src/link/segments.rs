//! The limit that a link's device has on the frames of one packet, while takt has the device.

use takt_planner::segments::frames_most;
use takt_policy::Link;

use super::record::Record;
use crate::{
    error::Error,
    os::netlink::{Device, Port, header_bytes},
};

/// A device's limit by takt, and the one before.
pub(crate) struct Limited {
    /// `None`: takt has left it.
    pub limit: Option<u32>,
    pub before: u32,
}

impl From<&Record> for Limited {
    fn from(record: &Record) -> Self {
        Self {
            limit: record.gso_max_segs,
            before: record.before.gso_max_segs,
        }
    }
}

/// What a link sets on its device, which had a limit of its own before; `None`: it leaves that.
pub(crate) fn limit(link: &Link, device: &Device, before: u32) -> Option<u32> {
    if link.download_of.is_some() {
        // It would cut what was merged on the way in, and go on as it came.
        return None;
    }
    let most = frames_most(link, device.mtu_bytes, header_bytes(device.hardware))?;
    // The device takes no more than it had.
    (most < before).then_some(most)
}

/// The devices of links whose limit is not what it is to be by their MTU. `limited`: of a device that
/// carries takt.
pub(crate) fn resized<'a>(
    links: impl Iterator<Item = &'a Link>,
    ports: &[Port],
    mut limited: impl FnMut(&Port) -> Result<Option<Limited>, Error>,
) -> Result<Vec<String>, Error> {
    let mut resized = Vec::new();
    for link in links {
        let mut ports = ports.iter();
        let Some(port) = ports.find(|port| port.device.is_called(&link.device)) else {
            continue;
        };
        if let Some(known) = limited(port)?
            && known.limit != limit(link, &port.device, known.before)
        {
            resized.push(link.device.clone());
        }
    }
    Ok(resized)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_keeps_a_limit_that_is_lower() {
        let text = "[link.eth0]\nrate = \"100mbit\"\n";
        let policy = takt_policy::parse("test", text).expect("a policy");
        let device = Device {
            mtu_bytes: 1500,
            hardware: libc::ARPHRD_ETHER,
            ..Device::default()
        };
        let limits = [65_535, 64, 8, 2].map(|before| limit(&policy.links[0], &device, before));
        assert_eq!(limits, [Some(8), Some(8), None, None]);
    }
}

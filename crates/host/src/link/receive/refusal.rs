//! Devices whose incoming packets cannot be delayed.

use thiserror::Error;

use crate::os::netlink::Device;

/// Why a device's background classes cannot receive.
#[derive(Debug, Error)]
pub enum NoReceive {
    /// It is neither an Ethernet device nor a loopback.
    #[error(
        "its packets have no Ethernet header, with which incoming background traffic comes back; \
         say receive = false in its classes with priority = \"background\""
    )]
    NotEthernet,
}

pub(crate) fn check(device: &Device, receives: bool) -> Result<(), NoReceive> {
    let has_header = [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&device.hardware);
    if receives && !has_header {
        Err(NoReceive::NotEthernet)
    } else {
        Ok(())
    }
}

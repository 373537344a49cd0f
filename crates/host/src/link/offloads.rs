//! Which devices have packets of several frames.

use serde::Serialize;

use crate::{
    error::Error,
    link::LinkError,
    os::{
        OsError,
        ethtool::{Ethtool, Offloads},
        netlink::{Device, Netlink},
    },
};

/// A device's offloads.
#[derive(Debug, Serialize)]
pub struct DeviceOffloads {
    /// Its name.
    pub device: String,
    /// Those that make packets of several frames.
    #[serde(flatten)]
    pub offloads: Offloads,
}

/// Of every Ethernet device of this namespace.
pub(crate) fn of_devices() -> Result<Vec<DeviceOffloads>, Error> {
    let mut netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
    let devices = Device::list(&mut netlink).map_err(OsError::netlink("listing devices"))?;
    let ethtool = Ethtool::open().map_err(LinkError::driver_socket)?;
    let found = devices
        .into_iter()
        .filter(|device| device.hardware == libc::ARPHRD_ETHER);
    let asked = found.filter_map(|device| {
        Some(DeviceOffloads {
            offloads: ethtool.offloads(&device.name)?,
            device: device.name,
        })
    });
    Ok(asked.collect())
}

//! The names that the kernel's older interfaces know devices by.

use super::{
    OsError,
    netlink::{Device, Netlink},
};
use crate::error::Error;

/// The present name of the device in this network namespace that has this name, or this
/// alternative name. `None`: there is none. Sockets' options and `getifaddrs` know only that one.
pub fn present_name(device: &str) -> Result<Option<String>, Error> {
    let found = Netlink::open().and_then(|mut netlink| Device::named(&mut netlink, device));
    let found = found.map_err(OsError::netlink("listing devices"))?;
    Ok(found.map(|device| device.name))
}

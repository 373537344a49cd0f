//! The link of a device, by one of the device's names.

use std::sync::Arc;

use crate::{
    error::Error,
    link::{memory::PortMemory, program::Program},
    os::{
        OsError,
        netlink::{Device, Netlink},
    },
};

/// What a device of this name has in this network namespace.
pub(super) enum Found {
    NoDevice,
    /// takt's qdisc is not on it.
    NoLink,
    Link(Arc<PortMemory>),
}

pub(super) fn find(device: &str) -> Result<Found, Error> {
    let mut netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
    let netns_cookie = netlink
        .netns_cookie()
        .map_err(OsError::netlink("identifying the namespace"))?;
    let found = Device::named(&mut netlink, device);
    let Some(device) = found.map_err(OsError::netlink("listing devices"))? else {
        return Ok(Found::NoDevice);
    };
    let Some(program) = Program::open()? else {
        return Ok(Found::NoLink);
    };
    for index in program.links()? {
        let Some(port) = program.port(index)? else {
            continue;
        };
        let outline = port.outline();
        let is_its = outline.owner.ifindex == device.index
            && outline.owner.netns_cookie == netns_cookie
            && !outline.receives;
        if is_its && port.is_attached() {
            return Ok(Found::Link(port));
        }
    }
    Ok(Found::NoLink)
}

//! Removing receive sides that no plan in force names: of a takt that died before its plan was
//! in force, or of a plan that no longer is.

use std::collections::BTreeSet;

use super::{KIND, NAME, delete_device, entry};
use crate::{
    error::Error,
    link::{memory::Outline, program::Program},
    os::{
        OsError,
        netlink::{Device, Netlink},
    },
};

/// Delete all devices of takt's in this namespace.
pub(crate) fn delete_devices(netlink: &mut Netlink) -> Result<(), Error> {
    let devices = Device::list(netlink).map_err(OsError::netlink("listing devices"))?;
    devices
        .iter()
        .filter(|device| is_ours(device))
        .try_for_each(|device| delete_device(netlink, device.index))
}

fn is_ours(device: &Device) -> bool {
    device.kind == KIND && device.name.starts_with(NAME)
}

/// All of this namespace; of other namespaces, those whose devices are gone. Under the lock no
/// other takt is making one.
pub(crate) fn sweep(
    program: &Program,
    netlink: &mut Netlink,
    netns_cookie: u64,
) -> Result<(), Error> {
    let mut links = Vec::new();
    for index in program.links()? {
        if let Some(port) = program.port(index)? {
            links.push((index, port.outline()));
        }
    }
    let receiving = |(_, link): &&(u32, Outline)| link.receive_ifindex != 0;
    let named: BTreeSet<u32> = links
        .iter()
        .filter(receiving)
        .map(|(_, link)| link.receive_link)
        .collect();
    let entered: BTreeSet<u32> = links
        .iter()
        .filter(receiving)
        .map(|(index, _)| *index)
        .collect();
    for link in entry::list(program)? {
        if !entered.contains(&link) {
            entry::of(program, link).remove()?;
        }
    }

    let is_here = |link: &Outline| link.owner.netns_cookie == netns_cookie;
    let sides = || links.iter().filter(|(_, link)| link.receives);
    let standing: BTreeSet<u32> = sides()
        .filter(|(index, link)| is_here(link) && named.contains(index))
        .map(|(_, link)| link.owner.ifindex)
        .collect();
    let devices = Device::list(netlink).map_err(OsError::netlink("listing devices"))?;
    for device in devices {
        if is_ours(&device) && !standing.contains(&device.index) {
            delete_device(netlink, device.index)?;
        }
    }
    for (index, link) in sides() {
        if !named.contains(index) && (is_here(link) || link.gone || !link.attached) {
            program.remove_link(*index)?;
        }
    }
    Ok(())
}

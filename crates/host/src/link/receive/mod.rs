//! Incoming background packets: a program on the device's ingress (`bpf/receive`) sends them
//! through a device of kind ifb, whose qdisc gates and orders them, and from which they come in
//! again. The two are the link's receive side; its qdisc is an internal link of its own.
//!
//! All of it is made before a plan names it, and nothing goes through it before the plan is in
//! force. What no plan in force names is removed by the next [`sweep`].

pub(crate) mod entry;
mod refusal;
mod side;
mod sweep;

pub use refusal::NoReceive;
pub(crate) use refusal::check;
pub(crate) use side::{Side, Wanted, let_out, make, name_of, restore};
pub(crate) use sweep::{delete_devices, sweep};

use crate::{
    error::Error,
    link::LinkError,
    os::{
        OsError,
        netlink::{Device, Netlink, NetlinkError, ifb},
    },
};

/// The prefix of the names of takt's own devices.
const NAME: &str = "takt-rx";

/// Their kind.
const KIND: &str = "ifb";

/// The prefix of their aliases in `ip link`.
const ALIAS: &str = "takt: incoming background traffic of ";

/// No device has this number, so no link's receive side has this name.
const PROBE: u32 = 0;

/// Load and make everything that a receive side needs, and remove it again.
pub(crate) fn verify() -> Result<(), Error> {
    let mut netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
    let name = name_of(PROBE);
    let index = make_device(&mut netlink, &name, "nobody")?;
    let tried = entry::verify(index);
    // The first error is the one to report.
    let deleted = delete_device(&mut netlink, index);
    tried.and(deleted)
}

/// Verify the program against the running kernel, and leave nothing loaded.
pub(crate) fn verify_program() -> Result<(), Error> {
    entry::verify_loading()
}

fn make_device(netlink: &mut Netlink, name: &str, whose: &str) -> Result<u32, Error> {
    let doing = format!("making the device {name}");
    // Remove a broken one: nothing has been sent through it since.
    let devices = Device::list(netlink).map_err(OsError::netlink(doing.clone()))?;
    if let Some(broken) = devices.iter().find(|d| d.name == name && d.kind == KIND) {
        delete_device(netlink, broken.index)?;
    }
    let requests = ifb::create(name, &format!("{ALIAS}{whose}"));
    match netlink.all(&requests) {
        Err(NetlinkError::Refused(refusal)) if refusal.errno == libc::EOPNOTSUPP => {
            return Err(LinkError::NoIfb.into());
        }
        done => done.map_err(OsError::netlink(doing.clone()))?,
    }
    Device::list(netlink)
        .and_then(|devices| {
            let made = devices.iter().find(|device| device.name == name);
            made.map(|device| device.index)
                .ok_or(NetlinkError::Malformed)
        })
        .map_err(OsError::netlink(doing))
}

fn delete_device(netlink: &mut Netlink, index: u32) -> Result<(), Error> {
    let doing = "deleting a device of takt's";
    netlink
        .all(&[ifb::delete(index)])
        .map_err(OsError::netlink(doing))
}

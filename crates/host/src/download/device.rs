//! The devices that downloads wait in.

use takt_policy::Policy;

use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{Device, Netlink, NetlinkError, Port, ifb},
    },
    part::{Foreign, Host},
};

/// The prefix of their names; a number follows.
const NAME: &str = "takt-dl";

/// Their kind.
const KIND: &str = "ifb";

/// Packets to an Ethernet device have its header.
const HARDWARE: u16 = libc::ARPHRD_ETHER;

/// Whether it is one of takt's.
pub(super) fn is_ours(device: &Device) -> bool {
    device.kind == KIND && device.name.starts_with(NAME)
}

/// Make those that the policy's downloads lack. None is of devices that are not there.
pub(crate) fn make(policy: &Policy, host: &mut Host) -> Result<(), Error> {
    for (name, of) in lacking(policy, host)? {
        let own = free_name(host)?;
        let doing = format!("making the device {own}");
        let requests = ifb::create(&own, &format!("takt: what {of} receives"));
        match host.netlink.all(&requests) {
            // The choice of a backend says what is missing.
            Err(NetlinkError::Refused(refusal)) if refusal.errno == libc::EOPNOTSUPP => {
                return assume(policy, host);
            }
            made => made.map_err(OsError::netlink(doing.clone()))?,
        }
        host.forget_ports();
        let ports = host.ports()?;
        let made = ports.iter().find(|port| port.device.name == own);
        let index = made.map(|port| port.device.index);
        let named = index
            .ok_or(NetlinkError::Malformed)
            .and_then(|index| host.netlink.all(&[ifb::also_call(index, &name)]));
        named.map_err(OsError::netlink(doing))?;
        host.forget_ports();
    }
    Ok(())
}

/// Assume that they are there, for a dry run.
pub(crate) fn assume(policy: &Policy, host: &mut Host) -> Result<(), Error> {
    for (name, of) in lacking(policy, host)? {
        let ports = host.ports()?;
        let own = free_name(host)?;
        let highest = ports.iter().map(|port| port.device.index).max();
        let mut of = ports.iter().filter(|port| port.device.is_called(&of));
        let mtu_bytes = of.next().map_or(0, |port| port.device.mtu_bytes);
        host.assume_port(Port {
            device: Device {
                index: highest.unwrap_or_default() + 1,
                name: own,
                alternative_names: vec![name],
                up: true,
                carrier: true,
                gso_max_segs: u32::from(u16::MAX),
                mtu_bytes,
                queue_packets: 32,
                queues: 1,
                hardware: HARDWARE,
                kind: KIND.to_owned(),
                ..Device::default()
            },
            root: None,
            below_root: None,
            is_given_back: false,
        })?;
    }
    Ok(())
}

/// Delete these.
pub(super) fn delete(netlink: &mut Netlink, indices: &[u32]) -> Result<(), Error> {
    let requests: Vec<_> = indices.iter().map(|index| ifb::delete(*index)).collect();
    let doing = "deleting a device of takt's";
    let answers = netlink.batch(&requests).map_err(OsError::netlink(doing))?;
    let refused = answers.into_iter().filter_map(Result::err);
    match { refused }.find(|refusal| refusal.errno != libc::ENODEV) {
        Some(refusal) => Err(OsError::netlink(doing)(NetlinkError::Refused(refusal))),
        None => Ok(()),
    }
}

/// The downloads whose devices have yet to be made, and the devices that receive them.
fn lacking(policy: &Policy, host: &mut Host) -> Result<Vec<(String, String)>, Error> {
    let ports = host.ports()?;
    let find = |name: &str| {
        let mut ports = ports.iter();
        ports.find(|port| port.device.is_called(name))
    };
    let mut lacking = Vec::new();
    for link in &policy.links {
        let Some(of) = link.download_of.as_ref().filter(|of| find(of).is_some()) else {
            continue;
        };
        let name = &link.device;
        match find(name) {
            None => lacking.push((name.clone(), of.clone())),
            Some(port) if is_ours(&port.device) => {}
            Some(_) => {
                return Err(Foreign::NameTaken {
                    device: name.clone(),
                    of: of.clone(),
                }
                .into());
            }
        }
    }
    Ok(lacking)
}

fn free_name(host: &mut Host) -> Result<String, Error> {
    let ports = host.ports()?;
    let is_free = |name: &String| !ports.iter().any(|port| port.device.is_called(name));
    let mut names = (0..).map(|number| format!("{NAME}{number}"));
    // There are finitely many devices.
    Ok(names.find(is_free).unwrap_or_default())
}

//! The program that asks connection tracking for the receiver of an incoming packet (`bpf/inside`): a
//! filter on the egress of the device that the download waits in. It goes with the device.

use std::{
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd},
};

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use takt_policy::{Link, Sharing};

use crate::{
    error::Error,
    link::memory::secret,
    os::{
        OsError,
        netlink::{Classifier, Handle, Netlink, NetlinkError, Qdisc, TAKT, conntrack},
    },
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/inside.skel.rs"));
}

/// The name that filters show.
const NAME: &str = "takt_inside";

/// Have a download's device call the program if its link divides among hosts that receive. Without
/// connection tracking in the kernel there is no NAT, and packets have the addresses of their receivers.
pub(super) fn follow(netlink: &mut Netlink, link: &Link, device: u32) -> Result<(), Error> {
    let doing = "listing what a download's device calls";
    let qdiscs = Qdisc::list(netlink, device).map_err(OsError::netlink(doing))?;
    let reads = |qdisc: &Qdisc| qdisc.kind == TAKT;
    let wanted = link.share == Sharing::Destinations && qdiscs.iter().any(reads);
    if wanted {
        // A program that needs functions of a module is loaded after the module.
        conntrack::load();
        return attach(netlink, device);
    }
    match Classifier::list(netlink, device, Handle::EGRESS) {
        Ok(found) if found.iter().any(|program| program.name == NAME) => {
            let removed = netlink.all(&[Classifier::remove(device, Handle::EGRESS)]);
            removed.map_err(OsError::netlink("removing a download's program"))
        }
        // A device without clsact calls none.
        Ok(_) | Err(NetlinkError::Refused(_)) => Ok(()),
        Err(error) => Err(OsError::netlink(doing)(error)),
    }
}

fn attach(netlink: &mut Netlink, device: u32) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let Ok(mut open) = skel::InsideSkelBuilder::default().open(&mut memory) else {
        return Ok(());
    };
    if let Some(terms) = open.maps.rodata_data.as_deref_mut() {
        terms.takt_secret = secret();
    }
    let Ok(skel) = open.load() else {
        return Ok(());
    };
    let program = skel.progs.takt_inside.as_fd().as_raw_fd();
    let requests = [
        Qdisc::make_clsact(device),
        Classifier::set(device, Handle::EGRESS, program, NAME),
    ];
    let doing = "attaching a download's program";
    netlink.all(&requests).map_err(OsError::netlink(doing))
}

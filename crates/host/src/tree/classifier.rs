//! The program that finds the classes of a tree's packets.

use std::{
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
};

use libbpf_rs::{
    MapCore, MapFlags,
    skel::{OpenSkel, SkelBuilder},
};
use takt_algo::{sys::takt_rules, to_bytes};
use takt_planner::tree::minor_of;

use crate::{
    bpf::{BpfError, btf, load_log},
    error::Error,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/tree.skel.rs"));
}

/// Load it with these rules, for devices of this type (`ARPHRD_*`). It goes with the last filter that uses it.
pub(super) fn load(rules: &takt_rules, hardware: u16) -> Result<OwnedFd, Error> {
    let opening = || BpfError::of("opening the program");
    let mut memory = MaybeUninit::uninit();
    load_log::begin();
    let mut open = skel::TreeSkelBuilder::default()
        .open(&mut memory)
        .map_err(opening())?;
    if let Some(terms) = open.maps.rodata_data.as_deref_mut() {
        terms.takt_tree_first_minor = minor_of(0).into();
        terms.takt_tree_skipped_bytes = header_bytes(hardware);
    }
    let skel = open.load().map_err(btf::explain_classifier_failure)?;
    skel.maps
        .takt_tree_rules
        .update(&0u32.to_ne_bytes(), to_bytes(rules), MapFlags::ANY)
        .map_err(BpfError::of("giving the classifier its rules"))?;
    let program = skel.progs.takt_tree.as_fd();
    program
        .try_clone_to_owned()
        .map_err(|error| BpfError::of("keeping the program")(error.into()))
}

/// What packets have before the network's header when they come to the qdisc.
fn header_bytes(hardware: u16) -> u32 {
    const ETHERNET_BYTES: u32 = 14;
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => ETHERNET_BYTES,
        // Tunnels, PPP.
        _ => 0,
    }
}

/// A program that is loaded already, by its number.
pub(super) fn open(id: u32) -> Result<OwnedFd, Error> {
    // SAFETY: takes a number; returns a descriptor that is ours, or an error.
    let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
    match fd {
        // SAFETY: just opened, and no other code owns it.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        errno => Err(BpfError::of("opening the classifier")(
            libbpf_rs::Error::from_raw_os_error(-errno),
        )),
    }
}

/// Its number in this process, as requests name it.
pub(super) fn number_of(program: &OwnedFd) -> i32 {
    program.as_raw_fd()
}

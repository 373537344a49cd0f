//! Loading the congestion control, and pinning it.

use std::{ffi::OsStr, mem::MaybeUninit, path::Path};

use libbpf_rs::{
    Link,
    btf::{Btf, types::Struct},
    skel::{OpenSkel, SkelBuilder},
};

use super::downloads;
use crate::{
    bpf::{BpfError, btf, load_log, pinned::CROWD},
    error::Error,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/crowd.skel.rs"));
}

/// Verify every program against the running kernel, and leave nothing loaded.
pub(super) fn verify() -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    load_skeleton(&mut memory).map(drop)
}

fn load_skeleton(
    memory: &mut MaybeUninit<libbpf_rs::OpenObject>,
) -> Result<skel::CrowdSkel<'_>, Error> {
    load_log::begin();
    let mut open = skel::CrowdSkelBuilder::default()
        .open(memory)
        .map_err(BpfError::of("opening the congestion control"))?;
    let other = if has_tx_start()? {
        &mut open.maps.takt_crowd_ops
    } else {
        &mut open.maps.takt_crowd_ops_tx
    };
    other
        .set_autocreate(false)
        .map_err(BpfError::of("choosing a congestion control"))?;
    open.load().map_err(btf::explain_crowd_failure)
}

/// In newer kernels the start of sending has a callback of its own.
fn has_tx_start() -> Result<bool, Error> {
    let types = Btf::from_vmlinux().map_err(BpfError::of("reading the kernel's types"))?;
    let ops = types.type_by_name::<Struct>("tcp_congestion_ops");
    let start = Some(OsStr::new("cwnd_event_tx_start"));
    Ok(ops.is_some_and(|ops| ops.iter().any(|member| member.name == start)))
}

pub(super) fn register_and_pin(dir: &Path) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let mut skel = load_skeleton(&mut memory)?;
    let pin = || BpfError::of("pinning the congestion control");
    for (map, name) in [
        (&mut skel.maps.takt_crowd, "takt_crowd"),
        (&mut skel.maps.takt_crowd_groups, "takt_crowd_groups"),
        (&mut skel.maps.takt_crowd_terminals, "takt_crowd_terminals"),
        (&mut skel.maps.takt_crowd_flows, "takt_crowd_flows"),
    ] {
        map.pin(dir.join(name)).map_err(pin())?;
    }
    let ops = if has_tx_start()? {
        &mut skel.maps.takt_crowd_ops_tx
    } else {
        &mut skel.maps.takt_crowd_ops
    };
    downloads::pin(dir)?;
    // Another version's: its bounds would stay.
    downloads::free()?;
    CROWD.retire()?;
    let mut link: Link = ops
        .attach_struct_ops()
        .map_err(BpfError::of("registering the congestion control"))?;
    link.pin(dir.join("congestion")).map_err(pin())
}

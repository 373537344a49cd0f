//! The congestion control `takt` in the kernel: loading and pinning it, and telling it what
//! the group achieves.

use std::{
    ffi::OsStr,
    mem::MaybeUninit,
    path::{Path, PathBuf},
};

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle,
    btf::{Btf, types::Struct},
    skel::{OpenSkel, SkelBuilder},
};
use takt_algo::{Group, WindowTerms, sys::takt_crowd, to_bytes};

use crate::{bpffs, btf, error::Error, log};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/crowd.skel.rs"));
}

/// The loaded congestion control, by its pins.
pub struct Crowd {
    dir: PathBuf,
    terms: MapHandle,
}

impl Crowd {
    /// What an earlier takt loaded; `None` if there is none.
    pub fn open() -> Result<Option<Self>, Error> {
        let dir = dir()?;
        if !dir.exists() {
            return Ok(None);
        }
        let terms = MapHandle::from_pinned_path(dir.join("takt_crowd"))
            .map_err(Error::bpf("opening a pinned map"))?;
        Ok(Some(Self { dir, terms }))
    }

    /// Load and register it. Until [`Self::set`] it is CUBIC; sockets have to choose it.
    pub fn load() -> Result<Self, Error> {
        bpffs::appear(&dir()?, register_and_pin)?;
        Self::open()?.ok_or(Error::NoBpffs { path: bpffs::MOUNT })
    }

    /// Verify every program against the running kernel, and leave nothing.
    pub fn verify() -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        load_skeleton(&mut memory).map(drop)
    }

    /// Bounds for every flow, running ones included, recomputed every `period_ns`. A group of
    /// nobody: each flow goes by its own round trips.
    pub fn set(&self, terms: &WindowTerms, group: &Group, period_ns: u64) -> Result<(), Error> {
        self.write(&takt_crowd {
            params: terms.params(),
            group: group.sum(),
            period_ns,
        })
    }

    /// No new socket can choose it; those that have it go on under CUBIC alone.
    pub fn unload(self) -> Result<(), Error> {
        self.write(&takt_crowd::default())?;
        bpffs::vanish(&self.dir)
    }

    fn write(&self, crowd: &takt_crowd) -> Result<(), Error> {
        self.terms
            .update(&0u32.to_ne_bytes(), to_bytes(crowd), MapFlags::ANY)
            .map_err(Error::bpf("telling the congestion control of its group"))
    }
}

fn dir() -> Result<PathBuf, Error> {
    Ok(bpffs::root()?.join("takt-crowd"))
}

fn load_skeleton(
    memory: &mut MaybeUninit<libbpf_rs::OpenObject>,
) -> Result<skel::CrowdSkel<'_>, Error> {
    log::begin();
    let mut open = skel::CrowdSkelBuilder::default()
        .open(memory)
        .map_err(Error::bpf("opening the congestion control"))?;
    let other = match has_tx_start()? {
        true => &mut open.maps.takt,
        false => &mut open.maps.takt_with_tx_start,
    };
    other
        .set_autocreate(false)
        .map_err(Error::bpf("choosing a congestion control"))?;
    open.load().map_err(btf::explain_load_failure)
}

/// In newer kernels the start of sending is a call of its own.
fn has_tx_start() -> Result<bool, Error> {
    let types = Btf::from_vmlinux().map_err(Error::bpf("reading the kernel's types"))?;
    let ops = types.type_by_name::<Struct>("tcp_congestion_ops");
    let start = Some(OsStr::new("cwnd_event_tx_start"));
    Ok(ops.is_some_and(|ops| ops.iter().any(|member| member.name == start)))
}

fn register_and_pin(dir: &Path) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let mut skel = load_skeleton(&mut memory)?;
    let pin = || Error::bpf("pinning the congestion control");
    skel.maps
        .takt_crowd
        .pin(dir.join("takt_crowd"))
        .map_err(pin())?;
    let ops = match has_tx_start()? {
        true => &mut skel.maps.takt_with_tx_start,
        false => &mut skel.maps.takt,
    };
    let mut link: Link = ops
        .attach_struct_ops()
        .map_err(Error::bpf("registering the congestion control"))?;
    link.pin(dir.join("congestion")).map_err(pin())
}

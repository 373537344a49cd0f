//! Bounds on what hosts behind this one receive: two programs on the crowd's device and an iterator
//! over the connections that they saw, one instance for each network namespace, pinned beside the
//! congestion control.

use std::{
    fs,
    mem::MaybeUninit,
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use libbpf_rs::{
    Link, MapHandle, OpenObject,
    skel::{OpenSkel, SkelBuilder},
};

use super::downloads::pass;
use crate::{
    bpf::{BpfError, btf, load_log, pinned::CROWD, pins},
    error::Error,
    link::{
        hook::{Hook, Point},
        memory::secret,
    },
    os::OsError,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/forward.skel.rs"));
}

/// The pins of an instance, in its directory.
const INGRESS: &str = "ingress";
const EGRESS: &str = "egress";
const PASS: &str = "pass";

/// The directory of a namespace's instance, within that of the congestion control.
fn name(netns_cookie: u64) -> String {
    format!("forwarded-{netns_cookie:x}")
}

fn dir(netns_cookie: u64) -> Result<PathBuf, Error> {
    Ok(CROWD.path()?.join(name(netns_cookie)))
}

fn hooks(dir: &Path) -> [(Hook, Point); 2] {
    [(INGRESS, Point::Ingress), (EGRESS, Point::Egress)]
        .map(|(name, point)| (Hook::at(dir.join(name)), point))
}

/// Verify the programs against the running kernel, and leave nothing loaded.
pub(super) fn verify() -> Result<(), Error> {
    load(&mut MaybeUninit::uninit(), 0, None).map(drop)
}

fn load<'a>(
    memory: &'a mut MaybeUninit<OpenObject>,
    netns_cookie: u64,
    terms: Option<&MapHandle>,
) -> Result<skel::ForwardSkel<'a>, Error> {
    let opening = || BpfError::of("opening what bounds forwarded downloads");
    load_log::begin();
    let mut open = skel::ForwardSkelBuilder::default()
        .open(memory)
        .map_err(opening())?;
    if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
        constants.takt_forward_netns = netns_cookie;
        constants.takt_forward_secret = secret();
    }
    if let Some(terms) = terms {
        open.maps
            .takt_crowd_downloads
            .reuse_fd(terms.as_fd())
            .map_err(opening())?;
    }
    open.load().map_err(btf::explain_crowd_failure)
}

/// Have it stand on this device of the calling thread's namespace. It cuts nothing before a pass.
pub(super) fn make(netns_cookie: u64, device: u32, terms: &MapHandle) -> Result<(), Error> {
    let dir = dir(netns_cookie)?;
    if hooks(&dir)
        .iter()
        .all(|(hook, _)| hook.is_attached_to(device))
    {
        return Ok(());
    }
    let mut memory = MaybeUninit::uninit();
    let skel = load(&mut memory, netns_cookie, Some(terms))?;
    remove(netns_cookie)?;
    pins::appear(&dir, |aside| {
        let programs = [&skel.progs.takt_crowd_in, &skel.progs.takt_crowd_out];
        for ((hook, point), program) in hooks(aside).into_iter().zip(programs) {
            hook.attach(program.as_fd(), device, point)?;
        }
        let pinning = || BpfError::of("pinning what bounds forwarded downloads");
        let flows = skel.maps.takt_crowd_forwarded.as_fd();
        let mut link: Link = skel
            .progs
            .takt_crowd_pass
            .attach_iter(flows)
            .map_err(pinning())?;
        link.pin(aside.join(PASS)).map_err(pinning())
    })
}

/// Windows pass as they are from now on.
pub(super) fn remove(netns_cookie: u64) -> Result<(), Error> {
    let dir = dir(netns_cookie)?;
    if fs::exists(&dir).map_err(OsError::file(&dir))? {
        pins::vanish(&dir)
    } else {
        Ok(())
    }
}

/// Bound every connection by the namespace's terms, or none without terms.
pub(super) fn bound(netns_cookie: u64) -> Result<(), Error> {
    pass(&format!("{}/{PASS}", name(netns_cookie)))
}

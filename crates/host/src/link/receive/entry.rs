//! The program on a device's ingress.

use std::{
    mem::MaybeUninit,
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use crate::{
    bpf::{BpfError, btf, load_log},
    error::Error,
    link::{
        hook::{self, Hook, Point},
        program::Program,
    },
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/receive.skel.rs"));
}

/// The directory of these pins, within that of the links.
const RECEIVE: &str = "receive";

fn dir(program: &Program) -> PathBuf {
    program.dir().join(RECEIVE)
}

/// That of a link, in the directory of the links' pins, whether it exists or not.
pub(crate) fn pinned(links: &Path, link: u32) -> Hook {
    Hook::for_link(&links.join(RECEIVE), link)
}

/// That of a link, whether it exists or not.
pub(crate) fn of(program: &Program, link: u32) -> Hook {
    Hook::for_link(&dir(program), link)
}

/// The links that have one.
pub(crate) fn list(program: &Program) -> Result<Vec<u32>, Error> {
    Hook::list(&dir(program))
}

/// Load it for this link and attach it to a device of this namespace.
pub(crate) fn attach(program: &Program, link: u32, device: u32) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let skel = load(&mut memory, link, Some(program))?;
    of(program, link).attach(skel.progs.takt_receive.as_fd(), device, Point::Ingress)
}

/// Verify it against the running kernel, and leave nothing loaded.
pub(crate) fn verify_loading() -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    load(&mut memory, 0, None).map(drop)
}

/// Load it and attach it to a device for a moment.
pub(crate) fn verify(device: u32) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let skel = load(&mut memory, 0, None)?;
    hook::attach(skel.progs.takt_receive.as_fd(), device, Point::Ingress).map(drop)
}

fn load<'a>(
    memory: &'a mut MaybeUninit<libbpf_rs::OpenObject>,
    link: u32,
    program: Option<&Program>,
) -> Result<skel::ReceiveSkel<'a>, Error> {
    let opening = || BpfError::of("opening the program");
    load_log::begin();
    let mut open = skel::ReceiveSkelBuilder::default()
        .open(memory)
        .map_err(opening())?;
    open.maps
        .port_shape
        .set_autocreate(false)
        .map_err(opening())?;
    if let Some(terms) = open.maps.rodata_data.as_deref_mut() {
        terms.takt_link_index = link;
    }
    if let Some(program) = program {
        let sharing = || BpfError::of("sharing the maps of links");
        open.maps
            .takt_link_ports
            .reuse_fd(program.ports().as_fd())
            .map_err(sharing())?;
        open.maps
            .takt_link_sockets
            .reuse_fd(program.sockets().as_fd())
            .map_err(sharing())?;
        open.maps
            .takt_link_dests
            .reuse_fd(program.registrations().as_fd())
            .map_err(sharing())?;
        open.maps
            .takt_link_registry
            .reuse_fd(program.registry().as_fd())
            .map_err(sharing())?;
    }
    open.load().map_err(btf::explain_load_failure)
}

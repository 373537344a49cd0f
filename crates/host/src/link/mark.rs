//! Marking packets (ECN): the program on a device's egress. A link has it if its plan marks.

use std::{
    mem::MaybeUninit,
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use takt_algo::sys::{TAKT_READS_ECN, takt_plan};

use crate::{
    bpf::{BpfError, btf, load_log},
    error::Error,
    link::{
        hook::{Hook, Point},
        program::Program,
    },
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/mark.skel.rs"));
}

/// The directory of these pins, within that of the links.
const MARK: &str = "mark";

fn dir(program: &Program) -> PathBuf {
    program.dir().join(MARK)
}

/// That of a link, in the directory of the links' pins, whether it exists or not.
pub(crate) fn pinned(links: &Path, link: u32) -> Hook {
    Hook::of(&links.join(MARK), link)
}

/// Whether packets of a link's device pass it.
pub(crate) fn stands_on(program: &Program, link: u32, device: u32) -> bool {
    Hook::of(&dir(program), link).stands_on(device)
}

/// Load it for this link and attach it to its device, unless it is there. It marks nothing before a plan in
/// force does.
pub(crate) fn make(program: &Program, link: u32, device: u32) -> Result<(), Error> {
    let hook = Hook::of(&dir(program), link);
    if hook.stands_on(device) {
        return Ok(());
    }
    let mut memory = MaybeUninit::uninit();
    let skel = load(&mut memory, link, Some(program))?;
    hook.attach(skel.progs.takt_mark.as_fd(), device, Point::Egress)
}

/// Verify it against the running kernel, and leave nothing loaded.
pub(crate) fn verify_loading() -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    load(&mut memory, 0, None).map(drop)
}

/// Whether the plan marks packets.
pub(crate) fn is_asked_by(plan: &takt_plan) -> bool {
    plan.reads & TAKT_READS_ECN != 0
}

/// Remove those of links whose plan in force marks nothing, and of links that are gone.
pub(crate) fn sweep(program: &Program) -> Result<(), Error> {
    for link in Hook::list(&dir(program))? {
        let marks = program
            .port(link)?
            .is_some_and(|port| is_asked_by(&port.plan()));
        if !marks {
            Hook::of(&dir(program), link).remove()?;
        }
    }
    Ok(())
}

fn load<'a>(
    memory: &'a mut MaybeUninit<libbpf_rs::OpenObject>,
    link: u32,
    program: Option<&Program>,
) -> Result<skel::MarkSkel<'a>, Error> {
    let opening = || BpfError::of("opening the program");
    load_log::begin();
    let mut open = skel::MarkSkelBuilder::default()
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
            .takt_link_marks
            .reuse_fd(program.marks().as_fd())
            .map_err(sharing())?;
    }
    open.load().map_err(btf::explain_load_failure)
}

//! The program that marks packets (ECN).

use std::{
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd},
};

use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use crate::{
    bpf::{BpfError, btf, load_log},
    error::Error,
    link::program::Program,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/mark.skel.rs"));
}

/// Load it for a link, and have it used.
pub(super) fn load(
    link: u32,
    program: Option<&Program>,
    used: impl FnOnce(BorrowedFd) -> Result<(), Error>,
) -> Result<(), Error> {
    let opening = || BpfError::of("opening the program");
    load_log::begin();
    let mut memory = MaybeUninit::uninit();
    let mut open = skel::MarkSkelBuilder::default()
        .open(&mut memory)
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
        let maps = &mut open.maps;
        for (map, of_links) in [
            (&mut maps.takt_link_ports, program.ports()),
            (&mut maps.takt_link_marks, program.marks()),
        ] {
            map.reuse_fd(of_links.as_fd()).map_err(sharing())?;
        }
    }
    let skel = open.load().map_err(btf::explain_load_failure)?;
    used(skel.progs.takt_mark.as_fd())
}

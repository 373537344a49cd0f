//! Bounds on what sockets receive: two iterators over TCP's sockets, pinned beside the congestion
//! control. Reading one runs it once, over the sockets of the reader's network namespace.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    mem::MaybeUninit,
    path::Path,
};

use libbpf_rs::{
    Link, OpenObject,
    skel::{OpenSkel, SkelBuilder},
};

use crate::{
    bpf::{BpfError, btf, load_log, pinned::CROWD},
    error::Error,
    os::OsError,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/download.skel.rs"));
}

/// The pin of the map with each namespace's terms.
pub(super) const TERMS: &str = "takt_crowd_downloads";
/// The pins of the iterators.
const BOUND: &str = "bound_downloads";
const FREE: &str = "free_downloads";

/// What a pass found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Downloaded {
    /// Of downloads that are limited by their windows.
    pub rate_bytes_ps: u64,
    /// Their number.
    pub flows: u32,
}

/// Verify both programs against the running kernel, and leave nothing loaded.
pub(super) fn verify() -> Result<(), Error> {
    load(&mut MaybeUninit::uninit()).map(drop)
}

fn load(memory: &mut MaybeUninit<OpenObject>) -> Result<skel::DownloadSkel<'_>, Error> {
    load_log::begin();
    let open = skel::DownloadSkelBuilder::default()
        .open(memory)
        .map_err(BpfError::of("opening what bounds downloads"))?;
    open.load().map_err(btf::explain_crowd_failure)
}

pub(super) fn pin(dir: &Path) -> Result<(), Error> {
    let mut memory = MaybeUninit::uninit();
    let mut skel = load(&mut memory)?;
    let pinning = || BpfError::of("pinning what bounds downloads");
    skel.maps
        .takt_crowd_downloads
        .pin(dir.join(TERMS))
        .map_err(pinning())?;
    for (program, name) in [
        (&skel.progs.takt_crowd_bound, BOUND),
        (&skel.progs.takt_crowd_free, FREE),
    ] {
        let mut link: Link = program.attach().map_err(pinning())?;
        link.pin(dir.join(name)).map_err(pinning())?;
    }
    Ok(())
}

/// Bound every download of this namespace by its terms.
pub(super) fn bound() -> Result<(), Error> {
    pass(BOUND)
}

/// Give every socket of this namespace back the window it had. Any version's pin does that.
pub(super) fn free() -> Result<(), Error> {
    pass(FREE)
}

/// No pin: nothing is bounded.
pub(super) fn pass(name: &str) -> Result<(), Error> {
    let path = CROWD.path()?.join(name);
    let mut nothing = Vec::new();
    match File::open(&path).and_then(|mut file| file.read_to_end(&mut nothing)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(OsError::file(path)(error)),
        _ => Ok(()),
    }
}

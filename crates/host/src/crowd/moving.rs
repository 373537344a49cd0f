//! Running flows change their congestion control.

use std::{io::Read, mem::MaybeUninit};

use libbpf_rs::{
    Iter, Link,
    skel::{OpenSkel, SkelBuilder},
};

use crate::{
    bpf::{BpfError, btf, load_log},
    error::Error,
};

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/move.skel.rs"));
}

const DOING: &str = "moving running flows to another congestion control";

/// Selects flows of this network namespace.
#[derive(Clone, Copy)]
pub(super) struct Flows<'a> {
    /// Their congestion control.
    pub of: &'a str,
    /// Only flows that leave by this device; `None`: all flows, and listening sockets.
    pub ifindex: Option<u32>,
}

impl Flows<'_> {
    /// Give them another congestion control.
    pub fn change_to(self, congestion: &str) -> Result<(), Error> {
        self.walk(Some(congestion)).map(drop)
    }

    /// How many there are.
    pub fn count(self) -> Result<u32, Error> {
        self.walk(None)
    }

    fn walk(self, to: Option<&str>) -> Result<u32, Error> {
        let mut memory = MaybeUninit::uninit();
        let (skel, link) = attach(&mut memory, self, to)?;
        let mut nothing = Vec::new();
        Iter::new(&link)
            .map_err(BpfError::of(DOING))?
            .read_to_end(&mut nothing)
            .map_err(|error| BpfError::of(DOING)(error.into()))?;
        Ok(skel.maps.bss_data.as_deref().map_or(0, |bss| bss.found))
    }
}

/// Verify against the running kernel, and leave nothing loaded.
pub(super) fn verify() -> Result<(), Error> {
    let flows = Flows {
        of: "",
        ifindex: None,
    };
    attach(&mut MaybeUninit::uninit(), flows, None).map(drop)
}

fn attach<'a>(
    memory: &'a mut MaybeUninit<libbpf_rs::OpenObject>,
    flows: Flows,
    to: Option<&str>,
) -> Result<(skel::MoveSkel<'a>, Link), Error> {
    load_log::begin();
    let mut open = skel::MoveSkelBuilder::default()
        .open(memory)
        .map_err(BpfError::of(DOING))?;
    if let Some(terms) = open.maps.rodata_data.as_deref_mut() {
        terms.from = name(flows.of);
        terms.to = name(to.unwrap_or_default());
        terms.ifindex = flows.ifindex.unwrap_or_default();
    }
    let skel = open.load().map_err(btf::explain_crowd_failure)?;
    let link = skel
        .progs
        .takt_crowd_move
        .attach()
        .map_err(BpfError::of(DOING))?;
    Ok((skel, link))
}

/// As the kernel has it: at most fifteen bytes, then zeros.
fn name(congestion: &str) -> skel::types::name {
    let mut text = [0; 16];
    for (to, from) in text.iter_mut().zip(congestion.bytes().take(15)) {
        *to = from as _;
    }
    skel::types::name { text }
}

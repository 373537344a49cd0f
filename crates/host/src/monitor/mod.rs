//! The monitor of TCP flows in the kernel ([`bpf/monitor`]): samples on request, and events.
//! Nothing is pinned, so it ends with its process, however that ends.
//!
//! [`bpf/monitor`]: ../../../../bpf/monitor/monitor.bpf.c

mod events;
mod read;

use std::{io::Read, mem::MaybeUninit, os::fd::AsFd};

use libbpf_rs::{
    Iter, IterOpts, Link, MapHandle, MapIterOpts, OpenObject, ProgramMut,
    skel::{OpenSkel, SkelBuilder},
};
use takt_algo::{
    from_bytes,
    sys::{takt_crowd_flow, takt_monitor_sample},
};
use takt_flows::Seen;

use crate::{
    bpf::{
        BpfError, btf, load_log,
        pinned::{CROWD, Pinned},
    },
    error::Error,
    os::{capability, namespace::netns_cookie},
};

pub use events::Events;

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/monitor.skel.rs"));
}

/// Reads the TCP flows of this thread's network namespace.
pub struct Monitor {
    all: Link,
    watched: Link,
    holders: Link,
}

impl Monitor {
    /// For samples only.
    pub fn open() -> Result<Self, Error> {
        capability::require()?;
        let mut memory = MaybeUninit::uninit();
        let skel = load(&mut memory, false)?;
        Self::attach(&skel)
    }

    /// For samples, and for events from now on.
    pub fn open_with_events() -> Result<(Self, Events), Error> {
        capability::require()?;
        let mut memory = MaybeUninit::uninit();
        let skel = load(&mut memory, true)?;
        Ok((Self::attach(&skel)?, Events::attach(&skel)?))
    }

    /// Verify every program against the running kernel, and leave nothing loaded.
    pub(crate) fn verify() -> Result<(), Error> {
        let mut memory = MaybeUninit::uninit();
        load(&mut memory, true).map(drop)
    }

    fn attach(skel: &skel::MonitorSkel) -> Result<Self, Error> {
        let attach = |program: &ProgramMut, over: IterOpts| {
            program
                .attach_iter_with_opts(over)
                .map_err(BpfError::of("attaching the monitor of flows"))
        };
        let watched = MapIterOpts::from_fd(skel.maps.takt_monitor_socks.as_fd());
        Ok(Self {
            all: attach(&skel.progs.takt_monitor_all, IterOpts::None)?,
            watched: attach(&skel.progs.takt_monitor_watched, IterOpts::Map(watched))?,
            holders: attach(&skel.progs.takt_monitor_holders, IterOpts::None)?,
        })
    }

    /// All flows now, in the kernel's order. Walks the host's whole table of connections.
    pub fn flows(&self) -> Result<Vec<Seen>, Error> {
        samples(&self.all)
    }

    /// The flows that [`Self::flows`] has returned before, and, with events, those that have
    /// received a packet since. The cost grows with their number only.
    pub fn known_flows(&self) -> Result<Vec<Seen>, Error> {
        samples(&self.watched)
    }

    /// Find out which processes hold sockets; [`Self::flows`] reports them from then on. Reads
    /// every open file of the host.
    pub fn survey(&self) -> Result<(), Error> {
        read_all(&self.holders).map(drop)
    }
}

fn samples(link: &Link) -> Result<Vec<Seen>, Error> {
    let bytes = read_all(link)?;
    let samples = bytes.chunks_exact(size_of::<takt_monitor_sample>());
    let samples = samples.filter_map(from_bytes::<takt_monitor_sample>);
    Ok(samples.map(|sample| read::seen(&sample)).collect())
}

fn read_all(link: &Link) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    Iter::new(link)
        .map_err(BpfError::of("looking at flows"))?
        .read_to_end(&mut bytes)
        .map_err(|error| BpfError::of("looking at flows")(error.into()))?;
    Ok(bytes)
}

fn load(
    memory: &mut MaybeUninit<OpenObject>,
    with_events: bool,
) -> Result<skel::MonitorSkel<'_>, Error> {
    load_log::begin();
    let mut open = skel::MonitorSkelBuilder::default()
        .open(memory)
        .map_err(BpfError::of("opening the monitor of flows"))?;
    if let Some(data) = open.maps.rodata_data.as_deref_mut() {
        data.takt_netns_cookie = netns_cookie()?;
    }
    for program in [
        &mut open.progs.takt_monitor_retransmit,
        &mut open.progs.takt_monitor_congestion,
        &mut open.progs.takt_monitor_heard,
    ] {
        program.set_autoload(with_events);
    }
    if let Some(bounds) = bounds() {
        open.maps
            .takt_crowd_flows
            .reuse_fd(bounds.as_fd())
            .map_err(BpfError::of("sharing the map of bounds"))?;
    }
    open.load().map_err(btf::explain_monitor_failure)
}

/// The bounds of flows under the congestion control `takt`, if it is loaded and its ABI is this
/// takt's.
fn bounds() -> Option<MapHandle> {
    let open = |pins: Pinned| pins.map_of::<u32, takt_crowd_flow>("takt_crowd_flows");
    CROWD.open(open).ok().flatten()
}

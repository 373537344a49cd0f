//! Events of flows, as the kernel reports them.

use std::{cell::RefCell, rc::Rc};

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, ProgramMut, RingBuffer, RingBufferBuilder};
use takt_algo::{from_bytes, sys::takt_monitor_event};
use takt_flows::{Event, Flow};

use super::{read, skel::MonitorSkel};
use crate::{bpf::BpfError, error::Error};

/// Listens until it is dropped.
pub struct Events {
    ring: RingBuffer<'static>,
    told: Rc<RefCell<Vec<(Flow, Event)>>>,
    counts: MapHandle,
    _programs: [Link; 3],
}

impl Events {
    pub(super) fn attach(skel: &MonitorSkel) -> Result<Self, Error> {
        let doing = "listening to what happens to flows";
        let told = Rc::new(RefCell::new(Vec::new()));
        let hear = {
            let told = told.clone();
            move |bytes: &[u8]| {
                let event = from_bytes::<takt_monitor_event>(bytes);
                told.borrow_mut()
                    .extend(event.and_then(|event| read::event(&event)));
                0
            }
        };
        let mut ring = RingBufferBuilder::new();
        ring.add(&skel.maps.takt_monitor_events, hear)
            .map_err(BpfError::of(doing))?;
        let ring = ring.build().map_err(BpfError::of(doing))?;
        let counts = MapHandle::try_from(&skel.maps.bss).map_err(BpfError::of(doing))?;
        let attach = |program: &ProgramMut| program.attach().map_err(BpfError::of(doing));
        Ok(Self {
            ring,
            told,
            counts,
            _programs: [
                attach(&skel.progs.takt_monitor_retransmit)?,
                attach(&skel.progs.takt_monitor_congestion)?,
                attach(&skel.progs.takt_monitor_heard)?,
            ],
        })
    }

    /// The events since the last call.
    pub fn take(&self) -> Result<Vec<(Flow, Event)>, Error> {
        self.ring
            .consume()
            .map_err(BpfError::of("listening to what happens to flows"))?;
        Ok(self.told.take())
    }

    /// How many events were lost, from the beginning.
    pub fn lost(&self) -> Result<u64, Error> {
        let counts = self
            .counts
            .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(BpfError::of("counting lost events"))?;
        let count = counts.as_deref().and_then(|bytes| bytes.first_chunk());
        Ok(count.map_or(0, |bytes| u64::from_ne_bytes(*bytes)))
    }
}

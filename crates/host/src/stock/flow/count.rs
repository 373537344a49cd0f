//! What connections sent, from what TCP counts of each.

use std::{collections::BTreeMap, mem::size_of};

use libbpf_rs::{MapCore, MapFlags};
use takt_algo::{
    from_bytes,
    sys::{takt_paced_class, takt_paced_report},
};
use takt_planner::flow::SocketRates;

use super::{
    hold::{COUNT, Hold, open, run},
    program::CLASSES,
};
use crate::{
    bpf::BpfError,
    error::Error,
    stock::{
        program::{self, map_of},
        record::Place,
    },
};

/// Connections end while others are counted: try again so often.
const ATTEMPTS: usize = 4;

/// What was counted of a link.
pub(in crate::stock) struct Counts {
    /// By class; without connections that still exist.
    classes: BTreeMap<u32, takt_paced_class>,
    /// The connections that exist.
    pub flows: Vec<takt_paced_report>,
}

/// What a class's connections sent, and how many they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::stock) struct Count {
    pub packets: u64,
    /// On the wire.
    pub bytes: u64,
    pub live: u32,
    pub created: u64,
}

impl Counts {
    /// Of the link that a program of this number serves.
    pub fn read(place: &Place, program: u32, terms: &SocketRates) -> Result<Self, Error> {
        let program = program::open(program)?;
        let map = map_of(&program, CLASSES)?;
        let count = open(&Hold::of_link(place).dir()?.join(COUNT))?;
        let mut counts = Self {
            classes: classes(&map, terms)?,
            flows: Vec::new(),
        };
        // One that ended in between would be counted twice, or not at all.
        for _ in 0..ATTEMPTS {
            counts.flows = reports(&run(&count)?);
            let before = std::mem::replace(&mut counts.classes, classes(&map, terms)?);
            if before == counts.classes {
                break;
            }
        }
        Ok(counts)
    }

    /// Of a class.
    pub fn of(&self, id: u32) -> Count {
        let ended = self.classes.get(&id).copied().unwrap_or_default();
        let mut count = Count {
            packets: ended.packets,
            bytes: ended.bytes,
            live: 0,
            created: ended.flows,
        };
        for flow in self.flows.iter().filter(|flow| flow.class_id == id) {
            count.packets += flow.packets;
            count.bytes += flow.bytes;
            count.live += 1;
        }
        count
    }

    /// Of all classes.
    pub fn all(&self) -> Count {
        let all = self.classes.keys().map(|id| self.of(*id));
        all.fold(Count::default(), |all, class| Count {
            packets: all.packets + class.packets,
            bytes: all.bytes + class.bytes,
            live: all.live + class.live,
            created: all.created + class.created,
        })
    }
}

fn classes(
    map: &impl MapCore,
    terms: &SocketRates,
) -> Result<BTreeMap<u32, takt_paced_class>, Error> {
    let classes = terms.classes.iter().map(|class| {
        let value = map
            .lookup(&class.id.to_ne_bytes(), MapFlags::ANY)
            .map_err(BpfError::of("reading the state of classes"))?;
        let counted = value.and_then(|value| from_bytes::<takt_paced_class>(&value));
        Ok((
            class.id,
            counted.map_or_else(Default::default, |counted| *counted),
        ))
    });
    classes.collect()
}

fn reports(written: &[u8]) -> Vec<takt_paced_report> {
    let reports = written.chunks_exact(size_of::<takt_paced_report>());
    let read = reports.filter_map(from_bytes::<takt_paced_report>);
    read.map(|report| *report).collect()
}

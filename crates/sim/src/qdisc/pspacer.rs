//! The byte clock as it was first: PSPacer's `sch_psp.c` (2005 to 2009, out of the kernel's tree),
//! with gap frames.
//!
//! Time is the number of bytes on the wire. Each class has a clock in bytes, which its packets move
//! by their length times the link's rate over the class's. Of the due classes the first in a list
//! sorted by rate goes, the fastest first; so slow ones starve where rates exceed the link's. If
//! none is due, a gap frame of the missing length takes up the wire.
//!
//! Left out: trees of classes, and the adjustment of clocks by measured bursts.

use std::collections::VecDeque;

use takt_algo::sys::takt_framing;
use takt_policy::Framing;

use super::{Answer, Qdisc};
use crate::{
    packet::{Flow, Loss, Packet, Why},
    setup::ClassTerms,
};

/// Ethernet's shortest frame without its checksum, and the longest here.
const GAP_LEAST_BYTES: u64 = 60;
const GAP_MOST_BYTES: u64 = 1514;
/// Packets of a class.
const LIMIT_PACKETS: usize = 1000;

struct Class {
    id: u32,
    /// 0: it goes where no other class is due.
    rate_bps: u64,
    clock_bytes: u64,
    /// Of `clock_bytes`, in parts of the class's rate.
    rest: u64,
    queue: VecDeque<Packet>,
}

/// A link with a clock in bytes.
pub struct PsPacer {
    link_bps: u64,
    framing: takt_framing,
    clock_bytes: u64,
    /// The fastest first.
    classes: Vec<Class>,
}

impl PsPacer {
    /// A link of this rate; classes without a rate of their own take the gaps.
    pub fn new(link_bps: u64, framing: Framing, classes: &[ClassTerms]) -> Self {
        let classes = classes.iter().map(|class| Class {
            id: class.id,
            rate_bps: class.pace_bps.unwrap_or(0),
            clock_bytes: 0,
            rest: 0,
            queue: VecDeque::new(),
        });
        let mut classes: Vec<Class> = classes.collect();
        classes.sort_by_key(|class| std::cmp::Reverse(class.rate_bps));
        Self {
            link_bps,
            framing: takt_planner::framing(framing),
            clock_bytes: 0,
            classes,
        }
    }

    fn wire_bytes(&self, bytes: u64) -> u64 {
        self.framing.frame_bytes(bytes as u32).into()
    }

    /// The first due class with packets, or one without a rate.
    fn first(&self) -> Option<usize> {
        let is_due = |class: &Class| class.clock_bytes <= self.clock_bytes;
        let classes = self.classes.iter();
        classes
            .into_iter()
            .position(|class| !class.queue.is_empty() && is_due(class))
    }

    /// The gap before the next packet; `None` if none is queued.
    fn gap_bytes(&self) -> Option<u64> {
        let waiting = self.classes.iter().filter(|class| !class.queue.is_empty());
        let next_bytes = waiting.map(|class| class.clock_bytes).min()?;
        let (least, most) = (
            self.wire_bytes(GAP_LEAST_BYTES),
            self.wire_bytes(GAP_MOST_BYTES),
        );
        Some((next_bytes - self.clock_bytes).clamp(least, most))
    }
}

impl Qdisc for PsPacer {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, _: u64, losses: &mut Vec<Loss>) {
        let found = self.classes.iter_mut().find(|class| class.id == flow.class);
        match found {
            Some(class) if class.queue.len() < LIMIT_PACKETS => {
                if class.queue.is_empty() {
                    class.clock_bytes = class.clock_bytes.max(self.clock_bytes);
                }
                class.queue.push_back(packet);
            }
            _ => losses.push(Loss {
                packet,
                why: Why::QueueFull,
            }),
        }
    }

    fn dequeue(&mut self, _: u64, _: &mut Vec<Loss>) -> Answer {
        let Some(at) = self.first() else {
            return match self.gap_bytes() {
                Some(bytes) => {
                    self.clock_bytes += bytes;
                    Answer::Gap {
                        wire_bytes: bytes as u32,
                    }
                }
                None => Answer::Empty,
            };
        };
        let Some(packet) = self.classes[at].queue.pop_front() else {
            return Answer::Empty;
        };
        let bytes = self.wire_bytes(packet.bytes.into());
        let class = &mut self.classes[at];
        if class.rate_bps > 0 {
            let scaled = u128::from(bytes) * u128::from(self.link_bps) + u128::from(class.rest);
            class.clock_bytes += (scaled / u128::from(class.rate_bps)) as u64;
            class.rest = (scaled % u128::from(class.rate_bps)) as u64;
        }
        self.clock_bytes += bytes;
        Answer::Packet {
            packet,
            eligible_ns: packet.arrived_ns,
        }
    }
}

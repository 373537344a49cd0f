//! Departure times by a program before fq, one clock for each class: Cilium's bandwidth manager
//! (`bpf/lib/edt.h`, `edt_sched_departure`).
//!
//! A class's clock is moved by what a packet takes at its rate, and the packet is stamped with it.
//! Rates count layer 2 frames, as the program does.

use super::{Answer, Fq, Qdisc};
use crate::{
    packet::{Flow, Loss, Packet, Why},
    setup::ClassTerms,
};

const NS_PER_BYTE_AT_1BPS: u64 = 8_000_000_000;
/// `DEFAULT_DROP_HORIZON`
const HORIZON_NS: u64 = 2_000_000_000;

struct Clock {
    class: u32,
    rate_bps: u64,
    last_ns: u64,
}

/// Clocks and fq.
pub struct Edt {
    clocks: Vec<Clock>,
    fq: Fq,
}

impl Edt {
    /// Clocks for the classes that have a rate, in the order of their ids.
    pub fn new(classes: &[ClassTerms], fq: Fq) -> Self {
        let clocks = classes.iter().filter_map(|class| {
            Some(Clock {
                class: class.id,
                rate_bps: class.pace_bps?,
                last_ns: 0,
            })
        });
        let mut clocks: Vec<Clock> = clocks.collect();
        clocks.sort_unstable_by_key(|clock| clock.class);
        Self { clocks, fq }
    }

    /// The packet's stamp; `None`: it is dropped.
    fn stamp(&mut self, packet: &Packet, flow: &Flow, now_ns: u64) -> Option<u64> {
        let at = self
            .clocks
            .binary_search_by_key(&flow.class, |clock| clock.class);
        let Ok(at) = at else {
            return Some(0);
        };
        let clock = &mut self.clocks[at];
        let delay_ns = u64::from(packet.bytes) * NS_PER_BYTE_AT_1BPS / clock.rate_bps;
        let next_ns = clock.last_ns + delay_ns;
        if next_ns <= now_ns {
            clock.last_ns = now_ns;
            return Some(0);
        }
        if next_ns - now_ns >= HORIZON_NS {
            return None;
        }
        clock.last_ns = next_ns;
        Some(next_ns)
    }
}

impl Qdisc for Edt {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        match self.stamp(&packet, flow, now_ns) {
            Some(departs_ns) => self.fq.enqueue_at(packet, flow, departs_ns, now_ns, losses),
            None => losses.push(Loss {
                packet,
                why: Why::BeyondHorizon,
            }),
        }
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        self.fq.dequeue(now_ns, losses)
    }
}

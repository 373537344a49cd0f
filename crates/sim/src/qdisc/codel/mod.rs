//! CoDel on one queue: `net/sched/sch_codel.c`. Left out: GSO.

mod state;

use std::collections::VecDeque;

pub(super) use self::state::State;
use super::{Answer, Qdisc};
use crate::packet::{Flow, Loss, Packet, Why};

/// When packets of a queue are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelTerms {
    /// The sojourn that a queue may keep up, in ns.
    pub target_ns: u64,
    /// A round trip, in which a sender would slow down, in ns.
    pub interval_ns: u64,
    /// Packets are marked instead where their sender understands it.
    pub ecn: bool,
}

impl Default for CodelTerms {
    /// fq_codel's.
    fn default() -> Self {
        Self {
            target_ns: 5_000_000,
            interval_ns: 100_000_000,
            ecn: true,
        }
    }
}

/// A queue that does not stand.
pub struct Codel {
    terms: CodelTerms,
    limit_packets: usize,
    packets: VecDeque<(Packet, bool)>,
    bytes: u64,
    state: State,
}

impl Codel {
    /// An empty queue.
    pub fn new(terms: CodelTerms, limit_packets: u32) -> Self {
        Self {
            terms,
            limit_packets: limit_packets as usize,
            packets: VecDeque::new(),
            bytes: 0,
            state: State::default(),
        }
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl Qdisc for Codel {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, _: u64, losses: &mut Vec<Loss>) {
        if self.packets.len() >= self.limit_packets {
            losses.push(Loss {
                packet,
                why: Why::QueueFull,
            });
            return;
        }
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back((packet, flow.understands_marks()));
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        self.state.begin();
        loop {
            let Some((packet, understands_marks)) = self.packets.pop_front() else {
                self.state.emptied();
                return Answer::Empty;
            };
            self.bytes -= u64::from(packet.bytes);
            let marks = self.terms.ecn && understands_marks;
            let terms = &self.terms;
            if let Some(packet) = self
                .state
                .pass(terms, packet, marks, self.bytes, now_ns, losses)
            {
                return Answer::Packet {
                    eligible_ns: packet.arrived_ns,
                    packet,
                };
            }
        }
    }
}

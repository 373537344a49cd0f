//! Flow queues that take turns, with CoDel on each: `net/sched/sch_fq_codel.c` (RFC 8290).
//!
//! Left out: the limit of memory, and GSO. Flows are told apart by
//! their index, mixed, instead of by a hash of their headers.

use std::collections::VecDeque;

use super::{
    Answer, Qdisc,
    codel::{CodelTerms, State},
};
use crate::packet::{Flow, Loss, Packet, Why};

/// The most packets that are dropped at once when the limit is reached.
const DROPS_AT_ONCE: u32 = 64;

/// Its parameters.
#[derive(Debug, Clone, Copy)]
pub struct FqCodelTerms {
    /// Flow queues, at least 1.
    pub flows: u32,
    /// Packets in all of them.
    pub limit_packets: u32,
    /// What a flow sends in a turn.
    pub quantum_bytes: u32,
    /// When packets are dropped.
    pub codel: CodelTerms,
}

impl Default for FqCodelTerms {
    /// The kernel's.
    fn default() -> Self {
        Self {
            flows: 1024,
            limit_packets: 10_240,
            quantum_bytes: 1514,
            codel: CodelTerms::default(),
        }
    }
}

#[derive(Default)]
struct Queue {
    packets: VecDeque<(Packet, bool)>,
    bytes: u64,
    credit_bytes: i64,
    codel: State,
    is_listed: bool,
}

impl Queue {
    fn pop(&mut self) -> Option<(Packet, bool)> {
        let (packet, understands_marks) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some((packet, understands_marks))
    }
}

/// Queues of flows.
pub struct FqCodel {
    terms: FqCodelTerms,
    queues: Vec<Queue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: u32,
    bytes: u64,
}

impl FqCodel {
    /// Empty queues.
    pub fn new(terms: FqCodelTerms) -> Self {
        Self {
            queues: (0..terms.flows.max(1)).map(|_| Queue::default()).collect(),
            terms,
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    fn queue_of(&self, flow: u32) -> usize {
        let mixed = u64::from(flow + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (mixed as usize) % self.queues.len()
    }

    /// Drops from the longest queue: half of its bytes, in at most so many packets.
    fn drop_batch(&mut self, losses: &mut Vec<Loss>) {
        let longest = self.queues.iter_mut().rev().max_by_key(|queue| queue.bytes);
        let Some(queue) = longest else {
            return;
        };
        let threshold = queue.bytes / 2;
        let (mut dropped_bytes, mut dropped) = (0, 0);
        while dropped < DROPS_AT_ONCE
            && (dropped == 0 || dropped_bytes < threshold)
            && let Some((packet, _)) = queue.pop()
        {
            dropped_bytes += u64::from(packet.bytes);
            dropped += 1;
            losses.push(Loss {
                packet,
                why: Why::QueueFull,
            });
        }
        queue.codel.overflowed(dropped);
        self.packets -= dropped;
        self.bytes -= dropped_bytes;
    }

    /// The first packet of a queue that CoDel lets go.
    fn take(&mut self, at: usize, now_ns: u64, losses: &mut Vec<Loss>) -> Option<Packet> {
        let queue = &mut self.queues[at];
        let terms = &self.terms.codel;
        queue.codel.begin();
        loop {
            let Some((packet, understands_marks)) = queue.pop() else {
                queue.codel.emptied();
                return None;
            };
            self.packets -= 1;
            self.bytes -= u64::from(packet.bytes);
            let marks = terms.ecn && understands_marks;
            let passed = queue
                .codel
                .pass(terms, packet, marks, self.bytes, now_ns, losses);
            if passed.is_some() {
                return passed;
            }
        }
    }
}

impl Qdisc for FqCodel {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, _: u64, losses: &mut Vec<Loss>) {
        let at = self.queue_of(packet.flow);
        let queue = &mut self.queues[at];
        queue.packets.push_back((packet, flow.understands_marks()));
        queue.bytes += u64::from(packet.bytes);
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        if !queue.is_listed {
            queue.is_listed = true;
            queue.credit_bytes = self.terms.quantum_bytes.into();
            self.new.push_back(at);
        }
        if self.packets > self.terms.limit_packets {
            self.drop_batch(losses);
        }
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&at) = list.front() else {
                return Answer::Empty;
            };
            if self.queues[at].credit_bytes <= 0 {
                self.queues[at].credit_bytes += i64::from(self.terms.quantum_bytes);
                list.pop_front();
                self.old.push_back(at);
                continue;
            }
            if let Some(packet) = self.take(at, now_ns, losses) {
                self.queues[at].credit_bytes -= i64::from(packet.bytes);
                return Answer::Packet {
                    packet,
                    eligible_ns: packet.arrived_ns,
                };
            }
            // A new flow that was emptied waits for the old ones, or it would go first every time.
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front();
            if is_new && !self.old.is_empty() {
                self.old.push_back(at)
            } else {
                self.queues[at].is_listed = false;
            }
        }
    }
}

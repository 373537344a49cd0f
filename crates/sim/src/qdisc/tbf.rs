//! A token bucket: `net/sched/sch_tbf.c`, without a peak rate and without GSO.

use std::collections::VecDeque;

use super::{
    Answer, Qdisc,
    cost::{Cost, burst_ns},
};
use crate::packet::{Flow, Loss, Packet, Why};

/// Its parameters.
#[derive(Debug, Clone, Copy)]
pub struct TbfTerms {
    /// The rate.
    pub rate_bps: u64,
    /// Bytes of each packet beyond its frame.
    pub overhead_bytes: u32,
    /// What may leave at once.
    pub burst_bytes: u32,
    /// What may be queued.
    pub limit_bytes: u64,
}

/// A queue with a bucket.
pub struct Tbf {
    limit_bytes: u64,
    cost: Cost,
    /// In time at the rate, as all tokens here.
    buffer_ns: i64,
    tokens_ns: i64,
    checked_ns: u64,
    queue: VecDeque<Packet>,
    bytes: u64,
}

impl Tbf {
    /// A full bucket.
    pub fn new(terms: TbfTerms) -> Self {
        let buffer_ns = burst_ns(terms.burst_bytes, terms.rate_bps);
        Self {
            limit_bytes: terms.limit_bytes,
            cost: Cost::new(terms.rate_bps, terms.overhead_bytes),
            buffer_ns,
            tokens_ns: buffer_ns,
            checked_ns: 0,
            queue: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl Qdisc for Tbf {
    fn enqueue(&mut self, packet: Packet, _: &Flow, _: u64, losses: &mut Vec<Loss>) {
        if self.bytes + u64::from(packet.bytes) > self.limit_bytes {
            losses.push(Loss {
                packet,
                why: Why::QueueFull,
            });
            return;
        }
        self.bytes += u64::from(packet.bytes);
        self.queue.push_back(packet);
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut Vec<Loss>) -> Answer {
        let Some(&packet) = self.queue.front() else {
            return Answer::Empty;
        };
        let passed_ns = ((now_ns - self.checked_ns) as i64).min(self.buffer_ns);
        let tokens_ns = (self.tokens_ns + passed_ns).min(self.buffer_ns);
        let left_ns = tokens_ns - self.cost.ns(packet.bytes);
        if left_ns < 0 {
            return Answer::Wait {
                until_ns: now_ns + left_ns.unsigned_abs(),
            };
        }
        // Since then there were enough tokens, if this packet was the first.
        let spare_ns = left_ns.min(passed_ns).unsigned_abs();
        self.checked_ns = now_ns;
        self.tokens_ns = left_ns;
        self.queue.pop_front();
        self.bytes -= u64::from(packet.bytes);
        Answer::Packet {
            packet,
            eligible_ns: now_ns - spare_ns,
        }
    }
}

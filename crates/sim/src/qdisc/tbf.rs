//! A token bucket: `net/sched/sch_tbf.c`, without a peak rate and without GSO.
//!
//! Its queue is a FIFO, or any other qdisc (`tc qdisc add … parent`). Of such a child the next packet
//! is taken before there are tokens for it (`qdisc_peek_dequeued`).

use std::collections::VecDeque;

use takt_policy::Framing;

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
    /// What the line carries of a frame.
    pub framing: Framing,
    /// What may leave at once.
    pub burst_bytes: u32,
    /// What may be queued.
    pub limit_bytes: u64,
}

/// A queue with a bucket.
pub struct Tbf {
    cost: Cost,
    /// In time at the rate, as all tokens here.
    buffer_ns: i64,
    tokens_ns: i64,
    checked_ns: u64,
    queue: Queue,
}

enum Queue {
    /// Of so many bytes (`bfifo`).
    Own {
        limit_bytes: u64,
        packets: VecDeque<Packet>,
        bytes: u64,
    },
    Child {
        qdisc: Box<dyn Qdisc>,
        taken: Option<Packet>,
    },
}

impl Queue {
    /// The packet that leaves next, or the child's answer without one.
    fn peek(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Result<Packet, Answer> {
        match self {
            Self::Own { packets, .. } => packets.front().copied().ok_or(Answer::Empty),
            Self::Child { qdisc, taken } => {
                if let Some(packet) = taken {
                    return Ok(*packet);
                }
                match qdisc.dequeue(now_ns, losses) {
                    Answer::Packet { packet, .. } => Ok(*taken.insert(packet)),
                    other => Err(other),
                }
            }
        }
    }

    /// Takes what was looked at.
    fn take(&mut self) {
        match self {
            Self::Own { packets, bytes, .. } => {
                let packet = packets.pop_front().unwrap_or_default();
                *bytes -= u64::from(packet.bytes);
            }
            Self::Child { taken, .. } => *taken = None,
        }
    }
}

impl Tbf {
    /// A full bucket with a FIFO.
    pub fn new(terms: TbfTerms) -> Self {
        let queue = Queue::Own {
            limit_bytes: terms.limit_bytes,
            packets: VecDeque::new(),
            bytes: 0,
        };
        Self::with(terms, queue)
    }

    /// A full bucket with another qdisc below it, which has a limit of its own.
    pub fn over(terms: TbfTerms, qdisc: Box<dyn Qdisc>) -> Self {
        Self::with(terms, Queue::Child { qdisc, taken: None })
    }

    fn with(terms: TbfTerms, queue: Queue) -> Self {
        let buffer_ns = burst_ns(terms.burst_bytes, terms.rate_bps);
        Self {
            cost: Cost::new(terms.rate_bps, terms.framing),
            buffer_ns,
            tokens_ns: buffer_ns,
            checked_ns: 0,
            queue,
        }
    }
}

impl Qdisc for Tbf {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        match &mut self.queue {
            Queue::Own {
                limit_bytes,
                packets,
                bytes,
            } => {
                if *bytes + u64::from(packet.bytes) > *limit_bytes {
                    losses.push(Loss {
                        packet,
                        why: Why::QueueFull,
                    });
                    return;
                }
                *bytes += u64::from(packet.bytes);
                packets.push_back(packet);
            }
            Queue::Child { qdisc, .. } => qdisc.enqueue(packet, flow, now_ns, losses),
        }
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        let packet = match self.queue.peek(now_ns, losses) {
            Ok(packet) => packet,
            Err(answer) => return answer,
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
        self.queue.take();
        Answer::Packet {
            packet,
            eligible_ns: now_ns - spare_ns,
        }
    }
}

//! A leaf: its queue, and its credit within a turn at each level.

use takt_planner::tree;

use super::LEVELS;
use crate::{
    packet::{Flow, Loss, Packet},
    qdisc::{Answer, Codel, CodelTerms, Fifo, FqCodel, FqCodelTerms, Qdisc},
};

enum Queue {
    Fifo(Fifo),
    Codel(Codel),
    FqCodel(FqCodel),
}

pub(super) struct Leaf {
    queue: Queue,
    quantum_bytes: i64,
    credit_bytes: [i64; LEVELS],
}

impl Leaf {
    pub fn new(leaf: &tree::Leaf, quantum_bytes: u32) -> Self {
        let queue = match *leaf {
            tree::Leaf::Fifo { limit_packets } => Queue::Fifo(Fifo::new(limit_packets)),
            tree::Leaf::Codel {
                flows,
                limit_packets,
                target_us,
                interval_us,
                ecn,
            } => {
                let codel = CodelTerms {
                    target_ns: u64::from(target_us) * 1000,
                    interval_ns: u64::from(interval_us) * 1000,
                    ecn,
                };
                match flows {
                    0 => Queue::Codel(Codel::new(codel, limit_packets)),
                    flows => Queue::FqCodel(FqCodel::new(FqCodelTerms {
                        flows,
                        limit_packets,
                        codel,
                        ..FqCodelTerms::default()
                    })),
                }
            }
        };
        Self {
            queue,
            quantum_bytes: quantum_bytes.into(),
            credit_bytes: [0; LEVELS],
        }
    }

    pub fn is_empty(&self) -> bool {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.is_empty(),
            Queue::Codel(codel) => codel.is_empty(),
            Queue::FqCodel(queues) => queues.is_empty(),
        }
    }

    pub fn put(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        match &mut self.queue {
            Queue::Fifo(fifo) => fifo.enqueue(packet, flow, now_ns, losses),
            Queue::Codel(codel) => codel.enqueue(packet, flow, now_ns, losses),
            Queue::FqCodel(queues) => queues.enqueue(packet, flow, now_ns, losses),
        }
    }

    pub fn take(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Option<Packet> {
        let answer = match &mut self.queue {
            Queue::Fifo(fifo) => fifo.dequeue(now_ns, losses),
            Queue::Codel(codel) => codel.dequeue(now_ns, losses),
            Queue::FqCodel(queues) => queues.dequeue(now_ns, losses),
        };
        match answer {
            Answer::Packet { packet, .. } => Some(packet),
            Answer::Gap { .. } | Answer::Wait { .. } | Answer::Empty => None,
        }
    }

    /// A packet leaves in a turn at this level. Returns whether the turn is over.
    pub fn spend(&mut self, level: usize, bytes: u32) -> bool {
        let credit_bytes = &mut self.credit_bytes[level];
        *credit_bytes -= i64::from(bytes);
        let is_over = *credit_bytes < 0;
        if is_over {
            *credit_bytes += self.quantum_bytes;
        }
        is_over
    }
}

//! First in, first out: `net/sched/sch_fifo.c`, the qdisc `pfifo`.

use std::collections::VecDeque;

use super::{Answer, Qdisc};
use crate::packet::{Flow, Loss, Packet, Why};

/// A queue of so many packets.
pub struct Fifo {
    limit_packets: usize,
    queue: VecDeque<Packet>,
}

impl Fifo {
    /// Packets beyond the limit are dropped.
    pub fn new(limit_packets: u32) -> Self {
        Self {
            limit_packets: limit_packets as usize,
            queue: VecDeque::new(),
        }
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl Qdisc for Fifo {
    fn enqueue(&mut self, packet: Packet, _: &Flow, _: u64, losses: &mut Vec<Loss>) {
        if self.queue.len() < self.limit_packets {
            self.queue.push_back(packet)
        } else {
            losses.push(Loss {
                packet,
                why: Why::QueueFull,
            })
        }
    }

    fn dequeue(&mut self, _: u64, _: &mut Vec<Loss>) -> Answer {
        match self.queue.pop_front() {
            Some(packet) => Answer::Packet {
                packet,
                eligible_ns: packet.arrived_ns,
            },
            None => Answer::Empty,
        }
    }
}

//! Takt's own qdisc: the planner's tables and `algo/link.h`, as the kernel runs them
//! (`bpf/link/link.bpf.c`).
//!
//! Left out: thinning of acknowledgements, and large segments (every packet is one frame). Stations
//! are known by their IP addresses. The helpers that make gap frames, and that fetch blocked
//! packets when the processor is idle, are never late.

use std::net::IpAddr;

use takt_algo::{
    Address, Port, Pulled, Sender,
    sys::{self, TAKT_CPU_IDLE, TAKT_ECN_CE, TAKT_PACKETS, takt_arrival, takt_plan},
};

use super::{Answer, Qdisc};
use crate::packet::{Flow, Loss, Packet, Why};

/// The longest gap frame, as the helper makes them on Ethernet.
const GAP_LONGEST_BYTES: u32 = 1514;

/// A link of a policy.
pub struct Takt {
    plan: Box<takt_plan>,
    port: Port,
    /// By their packet slots, as in the kernel's store.
    packets: Vec<Packet>,
    reads_ecn: bool,
    /// Marks that are due, by flow. A packet that is sent cannot be marked any more, so the next
    /// one that arrives is (`bpf/mark`).
    marks_due: Vec<u32>,
    /// Nothing says stations' weights from then on.
    silent_ns: u64,
}

impl Takt {
    /// A link that was just attached.
    pub fn new(plan: Box<takt_plan>) -> Self {
        let mut port = Port::new(&plan, GAP_LONGEST_BYTES);
        port.run_task(TAKT_CPU_IDLE);
        Self {
            reads_ecn: plan.reads & sys::TAKT_READS_ECN != 0,
            plan,
            port,
            packets: vec![Packet::default(); TAKT_PACKETS as usize],
            marks_due: Vec::new(),
            silent_ns: u64::MAX,
        }
    }

    /// The same, whose source of weights falls silent at this time, as taktd does when it is killed.
    pub fn silent_from(self, silent_ns: u64) -> Self {
        Self { silent_ns, ..self }
    }

    fn mark(&mut self, packet: &mut Packet, flow: &Flow) {
        if let Some(due) = self.marks_due.get_mut(packet.flow as usize)
            && *due > 0
            && flow.understands_marks()
        {
            *due -= 1;
            packet.is_marked = true;
        }
    }

    fn note_mark(&mut self, packet: &Packet) {
        let at = packet.flow as usize;
        if self.marks_due.len() <= at {
            self.marks_due.resize(at + 1, 0);
        }
        self.marks_due[at] += 1;
    }
}

impl Qdisc for Takt {
    fn enqueue(&mut self, mut packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        let sender = Sender {
            key: &flow.key,
            socket: flow.socket,
        };
        let mut arrival = takt_arrival {
            id: self.port.entity_of(&self.plan, sender, now_ns),
            bytes: packet.bytes,
            frames: 1,
            local: (flow.socket != 0).into(),
            task_prio: flow.task_prio,
            pacing_bps: flow.pacing_bps,
            now_ns,
            ..takt_arrival::default()
        };
        if self.reads_ecn {
            self.mark(&mut packet, flow);
            arrival.ecn = if packet.is_marked {
                TAKT_ECN_CE
            } else {
                flow.ecn
            };
        }
        match self.port.push(&self.plan, arrival) {
            Some(slot) => self.packets[slot as usize] = packet,
            None => losses.push(Loss {
                packet,
                why: Why::QueueFull,
            }),
        }
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        loop {
            match self.port.pull(&self.plan, now_ns) {
                Pulled::Packet {
                    slot,
                    marks,
                    eligible_ns,
                    ..
                } => {
                    let packet = self.packets[slot as usize];
                    if marks {
                        self.note_mark(&packet);
                    }
                    return Answer::Packet {
                        packet,
                        eligible_ns,
                    };
                }
                Pulled::Gap { wire_bytes } => return Answer::Gap { wire_bytes },
                Pulled::Dropped { slot } => losses.push(Loss {
                    packet: self.packets[slot as usize],
                    why: Why::Managed,
                }),
                Pulled::Wait { until_ns } if until_ns > now_ns => return Answer::Wait { until_ns },
                // More entities than it looks at in one call had to be moved.
                Pulled::Wait { .. } => {}
                Pulled::Empty => return Answer::Empty,
            }
        }
    }

    fn run_task(&mut self, task_prio: u32) {
        self.port.run_task(task_prio);
    }

    fn weigh(&mut self, station: IpAddr, weight_ppm: u32, now_ns: u64) {
        if now_ns >= self.silent_ns {
            return;
        }
        let mut stations = self.port.stations();
        stations.beat(now_ns);
        // The table has room for as many as a traffic file may have.
        let set = stations.set(Address::Ip(station), weight_ppm, false);
        debug_assert_eq!(set, Ok(()));
    }
}

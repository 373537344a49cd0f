//! A switch's port with a buffer, and the hosts that send to it: each has a scheduler and a wire.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use takt_sim::{Answer, Flow, Loss, Packet, Qdisc, Why};

/// What a frame takes on a wire beyond its own bytes.
pub const OVERHEAD_BYTES: u32 = 24;

/// A host that sends one flow.
struct Host {
    qdisc: Box<dyn Qdisc>,
    /// What is on its wire.
    sending: Option<Packet>,
    /// Its wire is taken until `due_ns`, by a frame or a gap frame.
    is_busy: bool,
    /// When it is looked at again; `u64::MAX`: when it gets a packet.
    due_ns: u64,
}

/// The hosts, and the port, which the simulator takes for a scheduler.
pub struct Port {
    hosts: Vec<Host>,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    ns_per_byte: f64,
    buffer: VecDeque<Packet>,
    packets_max: usize,
    /// Packets that find more than so many are marked (RFC 8257, section 3.1).
    marks_beyond: usize,
}

impl Port {
    /// Hosts with wires of a rate and these schedulers, in the order of the flows.
    pub fn new(qdiscs: Vec<Box<dyn Qdisc>>, wire_bps: u64, packets_max: usize) -> Self {
        let hosts = qdiscs.into_iter().map(|qdisc| Host {
            qdisc,
            sending: None,
            is_busy: false,
            due_ns: u64::MAX,
        });
        Self {
            hosts: hosts.collect(),
            due: BinaryHeap::new(),
            ns_per_byte: 8e9 / wire_bps as f64,
            buffer: VecDeque::new(),
            packets_max,
            marks_beyond: usize::MAX,
        }
    }

    /// Marks packets.
    pub fn marking_beyond(mut self, packets: usize) -> Self {
        self.marks_beyond = packets;
        self
    }

    /// What hosts have sent by now reaches the port. In between the port has sent nothing: it would
    /// have asked.
    fn advance(&mut self, now_ns: u64, losses: &mut Vec<Loss>) {
        while let Some(&Reverse((at_ns, host))) = self.due.peek()
            && at_ns <= now_ns
        {
            self.due.pop();
            if self.hosts[host].due_ns == at_ns {
                self.look_at(host, at_ns, losses);
            }
        }
    }

    fn look_at(&mut self, at: usize, now_ns: u64, losses: &mut Vec<Loss>) {
        if let Some(packet) = self.hosts[at].sending.take() {
            self.take(packet, losses);
        }
        let host = &mut self.hosts[at];
        let answer = host.qdisc.dequeue(now_ns, losses);
        host.is_busy = matches!(answer, Answer::Packet { .. } | Answer::Gap { .. });
        let taken_ns = |bytes: u32| now_ns + (f64::from(bytes) * self.ns_per_byte) as u64;
        host.due_ns = match answer {
            Answer::Packet { packet, .. } => {
                host.sending = Some(packet);
                taken_ns(packet.bytes + OVERHEAD_BYTES)
            }
            // The switch consumes it.
            Answer::Gap { wire_bytes } => taken_ns(wire_bytes),
            Answer::Wait { until_ns } => until_ns,
            Answer::Empty => u64::MAX,
        };
        self.wait(at);
    }

    fn wait(&mut self, at: usize) {
        let due_ns = self.hosts[at].due_ns;
        if due_ns < u64::MAX {
            self.due.push(Reverse((due_ns, at)));
        }
    }

    fn take(&mut self, mut packet: Packet, losses: &mut Vec<Loss>) {
        if self.buffer.len() >= self.packets_max {
            let why = Why::QueueFull;
            return losses.push(Loss { packet, why });
        }
        packet.is_marked |= self.buffer.len() > self.marks_beyond;
        self.buffer.push_back(packet);
    }
}

impl Qdisc for Port {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        self.advance(now_ns, losses);
        let at = packet.flow as usize;
        let host = &mut self.hosts[at];
        host.qdisc.enqueue(packet, flow, now_ns, losses);
        if !host.is_busy && host.due_ns != now_ns {
            host.due_ns = now_ns;
            self.wait(at);
        }
        self.advance(now_ns, losses);
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        self.advance(now_ns, losses);
        match (self.buffer.pop_front(), self.due.peek()) {
            (Some(packet), _) => Answer::Packet {
                packet,
                eligible_ns: packet.arrived_ns,
            },
            (None, Some(&Reverse((until_ns, _)))) => Answer::Wait { until_ns },
            (None, None) => Answer::Empty,
        }
    }
}

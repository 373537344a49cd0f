//! What a scheduler costs whose one structure is a binary heap: a clock for each flow, and packets
//! by the times that their clocks give them.

use std::{cmp::Reverse, collections::BinaryHeap};

use takt_algo::ByteClock;
use takt_sim::{Answer, Flow, Loss, Packet, Qdisc};

pub struct Heap {
    overhead_bytes: u32,
    link: ByteClock,
    clocks: Vec<ByteClock>,
    /// By due time, then in the order of arrival.
    packets: BinaryHeap<Reverse<(u64, u64, usize)>>,
    store: Vec<Packet>,
    free: Vec<usize>,
    arrived: u64,
}

impl Heap {
    pub fn new(link_bps: u64, flow_bps: u64, flows: usize, overhead_bytes: u32) -> Self {
        Self {
            overhead_bytes,
            link: ByteClock::new(link_bps, u64::MAX),
            clocks: vec![ByteClock::new(flow_bps, u64::MAX); flows],
            packets: BinaryHeap::new(),
            store: Vec::new(),
            free: Vec::new(),
            arrived: 0,
        }
    }
}

impl Qdisc for Heap {
    fn enqueue(&mut self, packet: Packet, _flow: &Flow, now_ns: u64, _losses: &mut Vec<Loss>) {
        let clock = &mut self.clocks[packet.flow as usize];
        clock.start(now_ns);
        let due_ns = clock.due_ns();
        clock.spend(0, due_ns, (packet.bytes + self.overhead_bytes).into());
        let at = self.free.pop().unwrap_or(self.store.len());
        match self.store.get_mut(at) {
            Some(place) => *place = packet,
            None => self.store.push(packet),
        }
        self.arrived += 1;
        self.packets.push(Reverse((due_ns, self.arrived, at)));
    }

    fn dequeue(&mut self, now_ns: u64, _losses: &mut Vec<Loss>) -> Answer {
        let Some(Reverse((due_ns, _, at))) = self.packets.peek().copied() else {
            return Answer::Empty;
        };
        let ready_ns = due_ns.max(self.link.due_ns());
        if ready_ns > now_ns {
            return Answer::Wait { until_ns: ready_ns };
        }
        self.packets.pop();
        self.free.push(at);
        let packet = self.store[at];
        self.link.start(now_ns);
        self.link
            .spend(0, now_ns, (packet.bytes + self.overhead_bytes).into());
        Answer::Packet {
            packet,
            eligible_ns: due_ns,
        }
    }
}

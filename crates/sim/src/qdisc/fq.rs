//! Flows with departure times and rates: `net/sched/sch_fq.c`.
//!
//! Left out: bands (all packets are in one), the offload horizon, the marks of `ce_threshold`, and
//! the removal of flows that are idle. Flows have a queue each, as with as many buckets as flows.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use super::{Answer, Qdisc};
use crate::packet::{Flow, Loss, Packet, Why};

const NS_PER_S: u64 = 1_000_000_000;
/// Below this rate a flow sends one packet at a time (`low_rate_threshold`).
const RATE_LOW_BPS: u64 = 550_000;
/// A flow that was idle for longer begins with a whole turn (`flow_refill_delay`).
const REFILL_NS: u64 = 40_000_000;
/// Timers fire by so much later, so that one serves for several (`timer_slack`).
const SLACK_NS: u64 = 10_000;
/// Packets that no flow is kept for, at most (`fq_fastpath_check`).
const AT_ONCE_MAX: usize = 8;
const TCP: u8 = 6;

/// Its parameters.
#[derive(Debug, Clone, Copy)]
pub struct FqTerms {
    /// Packets in all queues.
    pub limit_packets: u32,
    /// Packets in one.
    pub flow_limit_packets: u32,
    /// What a flow sends in a turn.
    pub quantum_bytes: u32,
    /// What it sends in its first.
    pub initial_quantum_bytes: u32,
    /// Packets with later departure times are dropped.
    pub horizon_ns: u64,
}

impl Default for FqTerms {
    /// The kernel's, on a device with Ethernet's frames.
    fn default() -> Self {
        Self {
            limit_packets: 10_000,
            flow_limit_packets: 100,
            quantum_bytes: 2 * 1514,
            initial_quantum_bytes: 10 * 1514,
            horizon_ns: 10 * NS_PER_S,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In no list, since then.
    Detached(u64),
    Listed,
    Throttled,
}

/// A packet with its departure time: the later of its arrival and its stamp.
#[derive(Debug, Clone, Copy)]
struct Stamped {
    packet: Packet,
    departs_ns: u64,
    is_stamped: bool,
    pacing_bps: u64,
}

struct Queue {
    packets: VecDeque<Stamped>,
    credit_bytes: i64,
    next_ns: u64,
    place: Place,
}

/// Queues of flows.
pub struct Fq {
    terms: FqTerms,
    queues: Vec<Queue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    throttled: BinaryHeap<Reverse<(u64, usize)>>,
    packets: u32,
    /// Flows with packets that are not throttled.
    eligible: u32,
    /// Packets that came while there were no such flows: they belong to none.
    at_once: VecDeque<Packet>,
}

impl Fq {
    /// Empty queues.
    pub fn new(terms: FqTerms) -> Self {
        Self {
            terms,
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            throttled: BinaryHeap::new(),
            packets: 0,
            eligible: 0,
            at_once: VecDeque::new(),
        }
    }

    /// `fq_fastpath_check`
    fn goes_at_once(&self, flow: &Flow, departs_ns: u64, now_ns: u64) -> bool {
        let is_paced = flow.pacing_bps > 0 && flow.key.proto != TCP;
        let first = self.throttled.peek();
        let none_is_due = first.is_none_or(|Reverse((next_ns, _))| *next_ns > now_ns);
        let is_short = self.at_once.len() < AT_ONCE_MAX;
        departs_ns <= now_ns && !is_paced && self.eligible == 0 && none_is_due && is_short
    }

    /// A packet arrives that is not to leave before `departs_ns`; 0: it has no stamp.
    pub fn enqueue_at(
        &mut self,
        packet: Packet,
        flow: &Flow,
        departs_ns: u64,
        now_ns: u64,
        losses: &mut Vec<Loss>,
    ) {
        let mut lose = |why| losses.push(Loss { packet, why });
        if self.packets >= self.terms.limit_packets {
            return lose(Why::QueueFull);
        }
        if departs_ns > now_ns + self.terms.horizon_ns {
            return lose(Why::BeyondHorizon);
        }
        if self.goes_at_once(flow, departs_ns, now_ns) {
            return self.at_once.push_back(packet);
        }
        let at = packet.flow as usize;
        self.make(at, now_ns);
        let queue = &mut self.queues[at];
        if queue.packets.len() >= self.terms.flow_limit_packets as usize {
            return lose(Why::QueueFull);
        }
        let stamped = Stamped {
            packet,
            departs_ns: departs_ns.max(now_ns),
            is_stamped: departs_ns > 0,
            pacing_bps: flow.pacing_bps,
        };
        // By departure time, then by arrival (the kernel's tree of packets out of order).
        let last = queue
            .packets
            .partition_point(|it| it.departs_ns <= stamped.departs_ns);
        if queue.packets.is_empty() {
            self.eligible += 1;
        }
        queue.packets.insert(last, stamped);
        self.packets += 1;
        if let Place::Detached(since_ns) = queue.place {
            queue.place = Place::Listed;
            // A debt stays: the kernel compares without a sign.
            if now_ns - since_ns > REFILL_NS && queue.credit_bytes >= 0 {
                queue.credit_bytes = queue.credit_bytes.max(self.terms.quantum_bytes.into());
            }
            self.new.push_back(at);
        }
    }

    fn make(&mut self, at: usize, now_ns: u64) {
        while self.queues.len() <= at {
            self.queues.push(Queue {
                packets: VecDeque::new(),
                credit_bytes: self.terms.initial_quantum_bytes.into(),
                next_ns: 0,
                place: Place::Detached(now_ns),
            });
        }
    }

    /// Flows whose time has come are old flows again.
    fn release(&mut self, now_ns: u64) {
        while let Some(&Reverse((next_ns, at))) = self.throttled.peek()
            && next_ns <= now_ns
        {
            self.throttled.pop();
            self.queues[at].place = Place::Listed;
            self.eligible += 1;
            self.old.push_back(at);
        }
    }

    /// A packet of the flow leaves: its next one has to wait for so long.
    fn charge(&mut self, at: usize, sent: &Stamped, now_ns: u64) {
        let queue = &mut self.queues[at];
        let mut bytes = u64::from(sent.packet.bytes);
        queue.credit_bytes -= bytes as i64;
        if sent.is_stamped || sent.pacing_bps == 0 {
            return;
        }
        if sent.pacing_bps <= RATE_LOW_BPS {
            queue.credit_bytes = 0;
        } else {
            bytes = bytes.max(self.terms.quantum_bytes.into());
            if queue.credit_bytes > 0 {
                return;
            }
        }
        let mut length_ns = (bytes * 8 * NS_PER_S / sent.pacing_bps).min(NS_PER_S);
        if queue.next_ns > 0 {
            // It was due before now: the timer was late.
            length_ns -= (length_ns / 2).min(now_ns - queue.next_ns);
        }
        queue.next_ns = now_ns + length_ns;
    }
}

impl Qdisc for Fq {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        self.enqueue_at(packet, flow, 0, now_ns, losses);
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut Vec<Loss>) -> Answer {
        if let Some(packet) = self.at_once.pop_front() {
            return Answer::Packet {
                packet,
                eligible_ns: packet.arrived_ns,
            };
        }
        // Flows are looked at only for packets: those that are empty stay in their lists.
        if self.packets == 0 {
            return Answer::Empty;
        }
        self.release(now_ns);
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&at) = list.front() else {
                return match self.throttled.peek() {
                    Some(&Reverse((next_ns, _))) => Answer::Wait {
                        until_ns: next_ns + SLACK_NS,
                    },
                    None => Answer::Empty,
                };
            };
            let queue = &mut self.queues[at];
            if queue.credit_bytes <= 0 {
                queue.credit_bytes += i64::from(self.terms.quantum_bytes);
                list.pop_front();
                self.old.push_back(at);
                continue;
            }
            let Some(&first) = queue.packets.front() else {
                list.pop_front();
                if is_new {
                    // Old flows are not to starve.
                    self.old.push_back(at)
                } else {
                    queue.place = Place::Detached(now_ns);
                }
                continue;
            };
            let due_ns = first.departs_ns.max(queue.next_ns);
            if due_ns > now_ns {
                queue.next_ns = due_ns;
                queue.place = Place::Throttled;
                self.eligible -= 1;
                list.pop_front();
                self.throttled.push(Reverse((due_ns, at)));
                continue;
            }
            queue.packets.pop_front();
            if queue.packets.is_empty() {
                self.eligible -= 1;
            }
            self.packets -= 1;
            self.charge(at, &first, now_ns);
            return Answer::Packet {
                packet: first.packet,
                eligible_ns: due_ns,
            };
        }
    }
}

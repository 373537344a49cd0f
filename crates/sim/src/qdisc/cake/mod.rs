//! CAKE with one rate and one tin: `net/sched/sch_cake.c` with `besteffort flows`.
//!
//! Its shaper is a clock, which does not lose what a late timer costs, and a second one
//! (`failsafe`) that limits how far it runs ahead. Left out: tins, hosts, the filter of
//! acknowledgements, GSO, and `ingress`. Flows have a queue each, as with as many queues as flows.
//! A packet's memory is taken to be the next power of two above its frame and the kernel's
//! structures.

mod cobalt;

use std::collections::VecDeque;

use takt_algo::sys::takt_framing;
use takt_policy::Framing;

use self::cobalt::{Cobalt, CobaltTerms, Verdict};
use super::{Answer, Qdisc};
use crate::{
    packet::{Flow, Loss, Packet, Why},
    random::Random,
};

const NS_PER_S: u64 = 1_000_000_000;
/// The largest frame, which rates are divided into turns by.
const FRAME_BYTES: u64 = 1514;
const TURN_LEAST_BYTES: u64 = 300;
const TARGET_NS: u64 = 5_000_000;
const INTERVAL_NS: u64 = 100_000_000;
/// Memory, at least.
const LIMIT_LEAST_BYTES: u64 = 4 << 20;
/// Frames that memory is for, at most.
const FRAMES_MAX: u64 = 10_240;
/// The number of its random numbers.
const OF_CAKE: u64 = u64::MAX - 2;

/// Its parameters.
#[derive(Debug, Clone, Copy)]
pub struct CakeTerms {
    /// The rate.
    pub rate_bps: u64,
    /// What the line carries of a frame.
    pub framing: Framing,
}

/// How a flow takes turns (`CAKE_SET_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Set {
    #[default]
    None,
    Sparse,
    /// Empty, and among the old flows for what it owes.
    SparseWait,
    Bulk,
    Decaying,
}

/// A list of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    New,
    Old,
    Decaying,
}

#[derive(Default)]
struct Queue {
    packets: VecDeque<(Packet, bool)>,
    bytes: u64,
    credit_bytes: i64,
    cobalt: Cobalt,
    set: Set,
    /// Counts its moves between lists.
    moves: u32,
}

/// A rate's time for bytes: by a multiplication and a shift, as `cake_set_rate` does it.
#[derive(Debug, Clone, Copy)]
struct Length {
    multiplier: u64,
    shift: u32,
}

impl Length {
    fn new(rate_bps: u64) -> Self {
        const SHIFT: u32 = 34;
        let mut shift = SHIFT;
        let mut multiplier = (u128::from(NS_PER_S) << SHIFT) / u128::from((rate_bps / 8).max(64));
        while multiplier >> SHIFT != 0 {
            multiplier >>= 1;
            shift -= 1;
        }
        Self {
            multiplier: multiplier as u64,
            shift,
        }
    }

    fn ns(self, bytes: u64) -> u64 {
        (bytes * self.multiplier) >> self.shift
    }
}

/// A shaper with queues of flows.
pub struct Cake {
    length: Length,
    framing: takt_framing,
    cobalt: CobaltTerms,
    turn_bytes: u64,
    limit_bytes: u64,
    next_ns: u64,
    failsafe_ns: u64,
    queues: Vec<Queue>,
    /// Flows, as of so many moves: one that has moved since is elsewhere.
    lists: [VecDeque<(usize, u32)>; 3],
    packets: u32,
    memory_bytes: u64,
    random: Random,
}

impl Cake {
    /// Empty queues, and the kernel's parameters otherwise.
    pub fn new(terms: CakeTerms) -> Self {
        let length = Length::new(terms.rate_bps);
        let packet_ns = length.ns(FRAME_BYTES);
        let target_ns = TARGET_NS.max(packet_ns * 3 / 2);
        let rate_bytes_ps = terms.rate_bps / 8;
        let of_rate = u128::from(rate_bytes_ps) * u128::from(4 * INTERVAL_NS);
        let of_rate = (of_rate / u128::from(NS_PER_S)) as u64;
        Self {
            length,
            framing: takt_planner::framing(terms.framing),
            cobalt: CobaltTerms {
                target_ns,
                interval_ns: (INTERVAL_NS + target_ns - TARGET_NS).max(2 * target_ns),
                packet_ns,
            },
            turn_bytes: (rate_bytes_ps >> 12).clamp(TURN_LEAST_BYTES, FRAME_BYTES),
            limit_bytes: of_rate.clamp(LIMIT_LEAST_BYTES, FRAMES_MAX * FRAME_BYTES),
            next_ns: 0,
            failsafe_ns: 0,
            queues: Vec::new(),
            lists: Default::default(),
            packets: 0,
            memory_bytes: 0,
            random: Random::new(1, OF_CAKE),
        }
    }

    /// Moves a flow to the end of a list.
    fn move_to(&mut self, at: usize, to: List) {
        self.leave(at);
        self.lists[to as usize].push_back((at, self.queues[at].moves));
    }

    fn leave(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        queue.moves = queue.moves.wrapping_add(1);
    }

    /// The first flow of a list.
    fn first(&mut self, list: List) -> Option<usize> {
        let list = &mut self.lists[list as usize];
        while let Some((at, moves)) = list.front().copied() {
            if self.queues[at].moves == moves {
                return Some(at);
            }
            list.pop_front();
        }
        None
    }

    fn pop(&mut self, at: usize) -> Option<(Packet, bool)> {
        let queue = &mut self.queues[at];
        let (packet, understands_marks) = queue.packets.pop_front()?;
        queue.bytes -= u64::from(packet.bytes);
        self.packets -= 1;
        self.memory_bytes -= memory_bytes(packet.bytes);
        Some((packet, understands_marks))
    }

    /// `cake_drop`: the first packet of the longest queue.
    fn drop_longest(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> bool {
        let longest = (0..self.queues.len()).max_by_key(|at| self.queues[*at].bytes);
        let Some((at, (packet, _))) = longest.and_then(|at| Some((at, self.pop(at)?))) else {
            return false;
        };
        self.queues[at].cobalt.full(&self.cobalt, now_ns);
        losses.push(Loss {
            packet,
            why: Why::QueueFull,
        });
        true
    }

    /// `cake_advance_shaper`: what a packet takes, of its flow's turn and of the time.
    fn charge(&mut self, at: usize, packet: &Packet) {
        let bytes = u64::from(self.framing.frame_bytes(packet.bytes));
        let length_ns = self.length.ns(bytes);
        self.next_ns += length_ns;
        self.failsafe_ns += length_ns + length_ns / 2;
        self.queues[at].credit_bytes -= bytes as i64;
    }

    /// What a flow may send in a turn: fractions are drawn.
    fn turn(&mut self) -> i64 {
        ((self.turn_bytes * 65_535 + self.random.below(1 << 16)) >> 16) as i64
    }

    /// A queue was found empty: its flow rests, or is watched until its state has decayed.
    fn found_empty(&mut self, at: usize, now_ns: u64) {
        let queue = &mut self.queues[at];
        queue.cobalt.empty(&self.cobalt, now_ns);
        if queue.cobalt.is_decaying(now_ns) {
            queue.set = Set::Decaying;
            self.move_to(at, List::Decaying);
        } else {
            queue.set = Set::None;
            self.leave(at);
        }
    }

    /// Whose turn it is. A decaying flow is looked at once in a call, before others.
    fn head(&mut self, is_first: bool) -> Option<usize> {
        let order = if is_first {
            [List::Decaying, List::New, List::Old]
        } else {
            [List::New, List::Old, List::Decaying]
        };
        order.into_iter().find_map(|list| self.first(list))
    }

    /// The packet of this flow that its queue management lets go.
    fn take(&mut self, at: usize, now_ns: u64, losses: &mut Vec<Loss>) -> Option<Packet> {
        loop {
            let (mut packet, understands_marks) = self.pop(at)?;
            let queue = &mut self.queues[at];
            let verdict = queue.cobalt.judge(
                &self.cobalt,
                now_ns,
                now_ns - packet.arrived_ns,
                understands_marks,
                &mut self.random,
            );
            // The last packet of a queue is not dropped.
            if verdict != Verdict::Drop || queue.packets.is_empty() {
                packet.is_marked |= verdict == Verdict::Mark;
                return Some(packet);
            }
            losses.push(Loss {
                packet,
                why: Why::Managed,
            });
        }
    }
}

/// What a packet takes of the kernel's memory.
fn memory_bytes(frame_bytes: u32) -> u64 {
    const STRUCTURES: u64 = 384;
    const HEAD: u64 = 256;
    (u64::from(frame_bytes) + STRUCTURES).next_power_of_two() + HEAD
}

impl Qdisc for Cake {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        if self.packets == 0 && self.next_ns < now_ns {
            self.next_ns = now_ns;
            self.failsafe_ns = now_ns;
        }
        let at = packet.flow as usize;
        if self.queues.len() <= at {
            self.queues.resize_with(at + 1, Queue::default);
        }
        let queue = &mut self.queues[at];
        queue.packets.push_back((packet, flow.understands_marks()));
        queue.bytes += u64::from(packet.bytes);
        self.packets += 1;
        self.memory_bytes += memory_bytes(packet.bytes);
        match queue.set {
            Set::None | Set::Decaying => {
                queue.set = Set::Sparse;
                queue.credit_bytes = ((self.turn_bytes * 65_535) >> 16) as i64;
                self.move_to(at, List::New);
            }
            Set::SparseWait => queue.set = Set::Bulk,
            Set::Sparse | Set::Bulk => {}
        }
        while self.memory_bytes > self.limit_bytes && self.drop_longest(now_ns, losses) {}
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        let mut is_first = true;
        while self.packets > 0 {
            let until_ns = self.next_ns.min(self.failsafe_ns);
            if until_ns > now_ns {
                return Answer::Wait { until_ns };
            }
            let Some(at) = self.head(is_first) else {
                break;
            };
            is_first = false;
            if self.queues[at].credit_bytes <= 0 {
                self.queues[at].credit_bytes += self.turn();
                self.move_to(at, List::Old);
                let queue = &mut self.queues[at];
                if queue.set == Set::Sparse {
                    queue.set = if queue.packets.is_empty() {
                        Set::SparseWait
                    } else {
                        Set::Bulk
                    };
                }
                continue;
            }
            let since_ns = self.next_ns;
            match self.take(at, now_ns, losses) {
                Some(packet) => {
                    self.charge(at, &packet);
                    return Answer::Packet {
                        packet,
                        eligible_ns: since_ns.clamp(packet.arrived_ns, now_ns),
                    };
                }
                None => self.found_empty(at, now_ns),
            }
        }
        Answer::Empty
    }
}

//! Takt's backend `departure`: the planner's terms, `algo/shared_clock.h` and `algo/activity.h` as
//! `bpf/edt/edt.bpf.c` uses them, and fq below.
//!
//! Left out: stamps of senders.

use takt_algo::{
    Activity, SharedClock,
    sys::{TAKT_SHARED_BITS, takt_framing},
};
use takt_planner::departure::Departure as Terms;

use super::{Answer, Fq, FqTerms, Qdisc};
use crate::packet::{Flow, Loss, Packet, Why};

struct Clock {
    class: u32,
    shared: SharedClock,
    rate_kbps: u32,
    backlog_ns: u64,
    forwarded_ns: u64,
}

/// Clocks and fq.
pub struct Departure {
    framing: takt_framing,
    clocks: Vec<Clock>,
    activity: Option<Activity>,
    fq: Fq,
}

impl Departure {
    /// A link of these terms.
    pub fn new(terms: &Terms) -> Self {
        let clocks = terms.classes.iter().filter(|class| class.rate_kbps > 0);
        let clocks = clocks.map(|class| Clock {
            class: class.id,
            shared: SharedClock::new(
                class.rate_kbps,
                class.multiplier,
                class.shift,
                class.backlog_ns,
            ),
            rate_kbps: class.rate_kbps,
            backlog_ns: class.backlog_ns,
            forwarded_ns: class.forwarded_backlog_ns,
        });
        let mut clocks: Vec<Clock> = clocks.collect();
        clocks.sort_unstable_by_key(|clock| clock.class);
        Self {
            framing: takt_planner::framing(terms.framing),
            clocks,
            activity: terms
                .is_oversubscribed
                .then(|| Activity::new(terms.rate_kbps, terms.epoch_shift)),
            fq: Fq::new(FqTerms {
                limit_packets: terms.fq.limit_packets,
                flow_limit_packets: terms.fq.flow_limit_packets,
                horizon_ns: u64::from(terms.fq.horizon_us) * 1000,
                ..FqTerms::default()
            }),
        }
    }

    /// The packet's stamp, 0 for none; `None`: it is dropped.
    fn stamp(&self, packet: &Packet, flow: &Flow, now_ns: u64) -> Option<u64> {
        let at = self
            .clocks
            .binary_search_by_key(&flow.class, |clock| clock.class);
        let Ok(at) = at else {
            return Some(0);
        };
        let clock = &self.clocks[at];
        let bytes = self.framing.frame_bytes(packet.bytes);
        let mut cost = clock.shared.cost(bytes.into());
        if let Some(activity) = &self.activity {
            cost = activity.scaled(cost, now_ns);
        }
        let most_ns = match flow.socket {
            0 => clock.forwarded_ns,
            _ => clock.backlog_ns,
        };
        let now = now_ns << TAKT_SHARED_BITS;
        let due = clock.shared.take_within(most_ns, cost, now)?;
        let ahead_ns = due.wrapping_sub(now) >> TAKT_SHARED_BITS;
        if let Some(activity) = &self.activity {
            let takes_ns = cost >> TAKT_SHARED_BITS;
            activity.book(clock.rate_kbps, now_ns, now_ns + ahead_ns, takes_ns);
        }
        Some(if ahead_ns == 0 { 0 } else { now_ns + ahead_ns })
    }
}

impl Qdisc for Departure {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        match self.stamp(&packet, flow, now_ns) {
            Some(departs_ns) => self.fq.enqueue_at(packet, flow, departs_ns, now_ns, losses),
            None => losses.push(Loss {
                packet,
                why: Why::QueueFull,
            }),
        }
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        self.fq.dequeue(now_ns, losses)
    }
}

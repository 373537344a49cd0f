//! The queues of current access points: mac80211's, of a driver with airtime fairness
//! (`net/mac80211/tx.c`, `ieee80211_next_txq`), such as ath9k and mt76.
//!
//! A station that has used more than its turn of the air waits until the others have had as much.
//! The flows of one station take turns as in fq_codel. Left out: the driver's limit of queued
//! airtime (AQL), as the device takes frames for one aggregate, and access categories.

use std::collections::VecDeque;

use super::{Answer, CodelTerms, FqCodel, FqCodelTerms, Qdisc};
use crate::packet::{Flow, Loss, Packet};

/// `IEEE80211_DEFAULT_AIRTIME_WEIGHT`: what a turn adds.
const TURN_NS: i64 = 256_000;
/// `ieee80211_txq_setup_flows`.
const LIMIT_PACKETS: u32 = 8192;
const QUANTUM_BYTES: u32 = 300;
const CODEL: CodelTerms = CodelTerms {
    target_ns: 20_000_000,
    interval_ns: 100_000_000,
    ecn: true,
};
/// The kernel has 4096 flows for all stations together.
const FLOWS_OF_STATION: u32 = 64;

struct Station {
    flows: FqCodel,
    deficit_ns: i64,
    /// Airtime that was charged.
    charged_ns: u64,
    is_listed: bool,
}

/// Queues of stations that take turns by airtime.
#[derive(Default)]
pub struct Airtime {
    stations: Vec<Station>,
    turns: VecDeque<usize>,
}

impl Airtime {
    /// Empty queues.
    pub fn new() -> Self {
        Self::default()
    }

    fn grow(&mut self, stations: usize) {
        let terms = FqCodelTerms {
            flows: FLOWS_OF_STATION,
            limit_packets: LIMIT_PACKETS,
            quantum_bytes: QUANTUM_BYTES,
            codel: CODEL,
        };
        while self.stations.len() < stations {
            self.stations.push(Station {
                flows: FqCodel::new(terms),
                deficit_ns: TURN_NS,
                charged_ns: 0,
                is_listed: false,
            });
        }
    }
}

impl Qdisc for Airtime {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, now_ns: u64, losses: &mut Vec<Loss>) {
        let at = flow.station as usize;
        self.grow(at + 1);
        let station = &mut self.stations[at];
        station.flows.enqueue(packet, flow, now_ns, losses);
        if !station.is_listed {
            station.is_listed = true;
            // A station without airtime at the head is sent to the back.
            self.turns.push_front(at);
        }
    }

    fn dequeue(&mut self, now_ns: u64, losses: &mut Vec<Loss>) -> Answer {
        while let Some(&at) = self.turns.front() {
            let station = &mut self.stations[at];
            if station.deficit_ns < 0 && !station.flows.is_empty() {
                station.deficit_ns += TURN_NS;
                self.turns.rotate_left(1);
                continue;
            }
            match station.flows.dequeue(now_ns, losses) {
                Answer::Empty => {
                    station.is_listed = false;
                    self.turns.pop_front();
                }
                answer => return answer,
            }
        }
        Answer::Empty
    }

    fn wants_airtime(&self) -> bool {
        true
    }

    fn charge(&mut self, station: usize, busy_ns: u64) {
        self.grow(station + 1);
        let station = &mut self.stations[station];
        station.deficit_ns -= (busy_ns - station.charged_ns) as i64;
        station.charged_ns = busy_ns;
    }
}

//! A peer of before stations' averages: idealised wireless fair queueing (Lu, Bharghavan, Srikant,
//! SIGCOMM '97), which knows each station's channel at every moment and makes up for bad ones.
//!
//! Stations share by tags, as if there were no losses. Nothing is sent to a station while its channel
//! is bad; its tags stay, so it goes before the others once the channel is good again, until it has
//! caught up or, behind by more than the bound, is moved up to that. The lead of the others ends with
//! that, too. Simplified: tags are of start-time fair queueing; a full queue drops the newcomer.
//!
//! No driver tells a channel's state like that. Here it is read without cost or delay.

use std::collections::VecDeque;

use super::{Answer, Qdisc};
use crate::packet::{Flow, Loss, Packet, Why};

/// A channel is good above: about half of the attempts at 1514 bytes are lost there, under `wavelan`
/// (docs/medium.generated.md, loss by SNR).
const GOOD_CENTIDB: i32 = 700;
/// How far behind a station may be.
const LAG_MAX_BYTES: u64 = 25 * 1514;
/// When to look again while all channels are bad.
const LOOK_NS: u64 = 1_000_000;

struct Station {
    queue: VecDeque<Packet>,
    /// Of its first packet, in bytes that each backlogged station has had.
    tag_bytes: u64,
    is_good: bool,
}

/// Stations that take turns by tags, those with a bad channel later.
pub struct Iwfq {
    /// Packets of a station beyond that are dropped.
    limit_packets: usize,
    stations: Vec<Station>,
    virtual_bytes: u64,
}

impl Iwfq {
    /// Empty queues of so many packets for each station.
    pub fn new(limit_packets: u32) -> Self {
        Self {
            limit_packets: limit_packets as usize,
            stations: Vec::new(),
            virtual_bytes: 0,
        }
    }

    fn grow(&mut self, stations: usize) {
        while self.stations.len() < stations {
            self.stations.push(Station {
                queue: VecDeque::new(),
                tag_bytes: 0,
                is_good: true,
            });
        }
    }
}

impl Qdisc for Iwfq {
    fn enqueue(&mut self, packet: Packet, flow: &Flow, _: u64, losses: &mut Vec<Loss>) {
        let at = flow.station as usize;
        self.grow(at + 1);
        let station = &mut self.stations[at];
        if station.queue.len() >= self.limit_packets {
            return losses.push(Loss {
                packet,
                why: Why::QueueFull,
            });
        }
        if station.queue.is_empty() {
            station.tag_bytes = station.tag_bytes.max(self.virtual_bytes);
        }
        station.queue.push_back(packet);
    }

    fn dequeue(&mut self, now_ns: u64, _: &mut Vec<Loss>) -> Answer {
        let waits = self.stations.iter_mut().filter(|it| !it.queue.is_empty());
        let mut is_empty = true;
        let good = waits.filter(|station| {
            is_empty = false;
            station.is_good
        });
        let Some(station) = good.min_by_key(|station| station.tag_bytes) else {
            return if is_empty {
                Answer::Empty
            } else {
                Answer::Wait {
                    until_ns: now_ns + LOOK_NS,
                }
            };
        };
        let least_bytes = self.virtual_bytes.saturating_sub(LAG_MAX_BYTES);
        station.tag_bytes = station.tag_bytes.max(least_bytes);
        self.virtual_bytes = self.virtual_bytes.max(station.tag_bytes);
        let Some(packet) = station.queue.pop_front() else {
            return Answer::Empty;
        };
        station.tag_bytes += u64::from(packet.bytes);
        Answer::Packet {
            packet,
            eligible_ns: packet.arrived_ns,
        }
    }

    fn wants_signals(&self) -> bool {
        true
    }

    fn hear(&mut self, station: usize, snr_centidb: i32) {
        self.grow(station + 1);
        self.stations[station].is_good = snr_centidb > GOOD_CENTIDB;
    }
}

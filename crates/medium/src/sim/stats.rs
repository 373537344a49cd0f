//! Statistics of a station's frames.

use super::Packet;
use crate::Air;

/// The outcome of a station's packets.
#[derive(Debug, Clone, Default)]
pub struct Station {
    /// Frames that its sources sent.
    pub offered: u64,
    /// Frames that arrived.
    pub delivered: u64,
    /// Bytes of the Ethernet frames that were delivered.
    pub delivered_bytes: u64,
    /// Frames for which a queue had no room.
    pub queue_lost: u64,
    /// Frames that were transmitted and did not arrive.
    pub air_lost: u64,
    /// From the source to the receiver, in order of arrival.
    pub delays_ns: Vec<u64>,
    pub(super) air: Air,
    pub(super) air_before: Air,
    pub(super) since_ns: u64,
    pub(super) until_ns: u64,
}

impl Station {
    pub(super) fn deliver(&mut self, at_ns: u64, packet: &Packet) {
        self.delivered += 1;
        self.delivered_bytes += u64::from(packet.bytes);
        self.delays_ns.push(at_ns.saturating_sub(packet.born_ns));
    }

    fn duration_s(&self) -> f64 {
        (self.until_ns - self.since_ns).max(1) as f64 / 1e9
    }

    /// Frames per second.
    pub fn frame_rate(&self) -> f64 {
        self.delivered as f64 / self.duration_s()
    }

    /// Of Ethernet frames.
    pub fn throughput_bps(&self) -> f64 {
        self.delivered_bytes as f64 * 8.0 / self.duration_s()
    }

    /// The part of frames that was lost, 0 to 1, without those still in transit.
    pub fn loss(&self) -> f64 {
        let lost = self.queue_lost + self.air_lost;
        lost as f64 / (lost + self.delivered).max(1) as f64
    }

    /// The part of the time in which the air was busy with its frames.
    pub fn airtime_share(&self) -> f64 {
        (self.air.busy_ns - self.air_before.busy_ns) as f64 / 1e9 / self.duration_s()
    }

    /// Transmissions of all nodes.
    pub fn attempts(&self) -> u64 {
        self.air.attempts - self.air_before.attempts
    }

    /// Transmissions that overlapped.
    pub fn collisions(&self) -> u64 {
        self.air.collisions - self.air_before.collisions
    }

    /// The delay that `per_mille` of a thousand frames do not exceed.
    pub fn delay_ns(&self, per_mille: usize) -> Option<u64> {
        let mut sorted = self.delays_ns.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * per_mille).div_ceil(1000);
        sorted.get(rank.saturating_sub(1)).copied()
    }
}

//! What the client asks for, and how much the switch holds.

use std::time::Duration;

use crate::experiment::pacing::length::Length;

/// Of the switch's port, frames counted as the kernel's queues count them.
pub const PORT_BPS: u64 = 100_000_000;
pub const FRAME_BYTES: u64 = 1514;
/// A full frame's payload, with timestamps.
pub const SEGMENT_BYTES: u64 = 1448;
pub const HEADER_BYTES: u64 = FRAME_BYTES - SEGMENT_BYTES;
/// Of the port, what the servers' rates add up to.
const PACED_PERCENT: u64 = 97;
/// Servers beyond these share hosts: a processor's policy of a link takes time to load.
const HOSTS_MAX: usize = 8;

#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub servers: usize,
    pub kb: u64,
    pub buffer_packets: u64,
    length: Length,
}

const fn case(servers: usize, kb: u64, buffer_packets: u64) -> Case {
    Case {
        servers,
        kb,
        buffer_packets,
        length: Length::only_full_ms(2_000),
    }
}

impl Case {
    pub const ALL: [Self; 10] = [
        case(16, 10, 32),
        case(64, 10, 32),
        case(4, 64, 32),
        case(16, 64, 32).also_short(),
        case(64, 64, 32).also_short(),
        case(128, 64, 32),
        case(16, 256, 32),
        case(64, 256, 32),
        case(64, 64, 128),
        case(128, 64, 128),
    ];

    const fn also_short(self) -> Self {
        Self {
            length: Length::ms(2_000, 1_500),
            ..self
        }
    }

    /// In rows.
    pub fn name(self) -> String {
        let Self {
            servers,
            kb,
            buffer_packets,
            ..
        } = self;
        format!("incast-{servers}x{kb}kb-buffer-{buffer_packets}")
    }

    /// `None` if this run leaves the case out.
    pub fn length(self, short: bool) -> Option<Duration> {
        self.length.of(short)
    }

    pub fn hosts(self) -> usize {
        self.servers.min(HOSTS_MAX)
    }

    pub fn answer_bytes(self) -> usize {
        self.kb as usize * 1000
    }

    /// An answer in frames, each counted in full.
    pub fn answer_on_the_wire_bytes(self) -> u64 {
        let payload_bytes = self.answer_bytes() as u64;
        payload_bytes + payload_bytes.div_ceil(SEGMENT_BYTES) * HEADER_BYTES
    }

    /// A server's part of the port.
    pub fn rate_bps(self) -> u64 {
        PORT_BPS * PACED_PERCENT / 100 / self.servers as u64
    }

    /// Between full frames of all servers at their rates.
    pub fn apart_ns() -> u64 {
        FRAME_BYTES * 8 * 1_000_000_000 * 100 / PACED_PERCENT / PORT_BPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_rates_are_less_than_the_port() {
        for case in Case::ALL {
            let all_bps = case.rate_bps() * case.servers as u64;
            assert!((96..=97).contains(&(all_bps * 100 / PORT_BPS)), "{case:?}");
        }
        assert_eq!(Case::apart_ns(), 124_865);
    }

    #[test]
    fn an_answer_has_headers() {
        let answer = case(4, 10, 32);
        assert_eq!(answer.name(), "incast-4x10kb-buffer-32");
        assert_eq!(answer.answer_on_the_wire_bytes(), 10_000 + 7 * 66);
    }
}

//! The cases: what is sent, and at which rates.

use std::time::Duration;

use super::ROUND_TRIP;
use crate::experiment::shape::ETHERNET_HEADER_BYTES;

/// Of everything whose cost is measured.
pub const PORT: u16 = 5001;
/// Of what waits beside it.
pub const URGENT_PORT: u16 = 5002;
/// IP and TCP headers, the latter with timestamps.
const TCP_HEADER_BYTES: u32 = 20 + 32;
/// IP and UDP headers.
const UDP_HEADER_BYTES: u32 = 20 + 8;
/// The IP packet of one frame.
const MTU_BYTES: u32 = 1500;
/// As QUIC sends them.
pub const DATAGRAM_BYTES: u32 = 1200;

#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub pace: Pace,
    pub flows: usize,
    pub sent: Sent,
    pub round_trip: Duration,
}

/// Which rate is asked for, on the wire.
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    Flow { rate_bps: u64 },
    Class { rate_bps: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Tcp,
    Datagrams,
    /// Several in one call, with `UDP_SEGMENT`.
    SegmentedDatagrams,
}

impl Case {
    /// The first `SHORT` ones are those of a short run.
    pub const ALL: [Self; 17] = [
        Self::flow("20mbit-a-flow-10ms", 20).far(),
        Self::flow("100mbit-a-flow-10ms", 100).far(),
        Self::class("400mbit-10ms", 400).far(),
        Self::class("400mbit", 400),
        Self::class("1600mbit", 1_600),
        Self::flow("20mbit-a-flow", 20),
        Self::flow("100mbit-a-flow", 100),
        Self::flow("5mbit-a-flow", 5),
        Self::flow("400mbit-a-flow", 400),
        Self::class("100mbit", 100),
        Self::class("5gbit", 5_000),
        Self::class("400mbit-1-flow", 400).of_flows(1),
        Self::class("400mbit-64-flows", 400).of_flows(64),
        Self::class("400mbit-1000-flows", 400).of_flows(1_000),
        Self::class("80mbit-10ms", 80).far(),
        Self::class("100mbit-udp", 100).of(Sent::Datagrams),
        Self::class("100mbit-udp-segmented", 100).of(Sent::SegmentedDatagrams),
    ];
    pub const SHORT: usize = 5;

    const fn paced(name: &'static str, pace: Pace) -> Self {
        Self {
            name,
            pace,
            flows: 4,
            sent: Sent::Tcp,
            round_trip: Duration::ZERO,
        }
    }

    /// TCP flows with this rate each.
    const fn flow(name: &'static str, rate_mbps: u64) -> Self {
        let rate_bps = rate_mbps * 1_000_000;
        Self::paced(name, Pace::Flow { rate_bps })
    }

    /// TCP flows with this rate together.
    pub const fn class(name: &'static str, rate_mbps: u64) -> Self {
        let rate_bps = rate_mbps * 1_000_000;
        Self::paced(name, Pace::Class { rate_bps })
    }

    const fn of_flows(self, flows: usize) -> Self {
        Self { flows, ..self }
    }

    const fn far(self) -> Self {
        Self {
            round_trip: ROUND_TRIP,
            ..self
        }
    }

    const fn of(self, sent: Sent) -> Self {
        Self { sent, ..self }
    }

    /// Of all flows together.
    pub fn target_bps(&self) -> u64 {
        match self.pace {
            Pace::Flow { rate_bps } => self.flows as u64 * rate_bps,
            Pace::Class { rate_bps } => rate_bps,
        }
    }

    /// Of one flow, if all have the same.
    pub fn flow_bps(&self) -> u64 {
        self.target_bps() / self.flows as u64
    }
}

impl Pace {
    pub fn rate_bps(self) -> u64 {
        match self {
            Self::Flow { rate_bps } | Self::Class { rate_bps } => rate_bps,
        }
    }
}

impl Sent {
    /// Payload of a full frame.
    pub fn segment_bytes(self) -> u32 {
        match self {
            Self::Tcp => MTU_BYTES - TCP_HEADER_BYTES,
            Self::Datagrams | Self::SegmentedDatagrams => DATAGRAM_BYTES,
        }
    }

    /// Headers of a frame, and of a packet of several.
    pub fn header_bytes(self) -> u32 {
        ETHERNET_HEADER_BYTES
            + match self {
                Self::Tcp => TCP_HEADER_BYTES,
                Self::Datagrams | Self::SegmentedDatagrams => UDP_HEADER_BYTES,
            }
    }

    /// A packet's bytes when each of its segments is a frame, as the kernel counts for a qdisc.
    pub fn wire_bytes(self, packet_bytes: u32) -> u32 {
        let payload_bytes = packet_bytes.saturating_sub(self.header_bytes());
        let frames = payload_bytes.div_ceil(self.segment_bytes()).max(1);
        packet_bytes + (frames - 1) * self.header_bytes()
    }

    /// The part of a rate on the wire that is payload.
    pub fn payload_bps(self, wire_bps: u64) -> u64 {
        let [segment_bytes, header_bytes] = [self.segment_bytes(), self.header_bytes()];
        wire_bps * u64::from(segment_bytes) / u64::from(segment_bytes + header_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_of_a_packet_has_headers_on_the_wire() {
        assert_eq!(Sent::Tcp.wire_bytes(1514), 1514);
        assert_eq!(Sent::Tcp.wire_bytes(66 + 2 * 1448), 2 * 1514);
        assert_eq!(Sent::Tcp.wire_bytes(66 + 1448 + 1), 1514 + 67);
        assert_eq!(Sent::Tcp.wire_bytes(66), 66);
        let datagrams = Sent::SegmentedDatagrams;
        assert_eq!(datagrams.wire_bytes(42 + 8 * 1200), 8 * 1242);
    }

    #[test]
    fn a_rate_is_shared_by_flows() {
        let [flow, class] = [Case::flow("", 20), Case::class("", 400)];
        assert_eq!(
            (flow.target_bps(), flow.flow_bps()),
            (80_000_000, 20_000_000)
        );
        assert_eq!(
            (class.target_bps(), class.flow_bps()),
            (400_000_000, 100_000_000)
        );
        assert_eq!(Sent::Tcp.payload_bps(1_514_000), 1_448_000);
    }
}

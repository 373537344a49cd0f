//! The traffic to the stations: SoCPS, section 5.1.

use std::time::Duration;

use super::environment::STATIONS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// A bulk TCP flow for each.
    Tcp,
    Voip,
    /// More than the air can carry.
    Cbr,
    /// VoIP for the first four, TCP for the others.
    Mixed,
    /// VoIP for the first, nothing for the others.
    Lone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Tcp,
    Udp(Stream),
}

/// Datagrams at regular times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    pub payload_bytes: usize,
    pub interval: Duration,
    /// Each comes up to this much earlier or later.
    pub jitter: Duration,
}

/// SoCPS counts it.
pub const UDP_HEADER_BYTES: usize = 8;

/// 350 bytes with UDP and RTP headers every 30 ms, 93 kbit/s.
const VOIP: Stream = Stream {
    payload_bytes: 350 - UDP_HEADER_BYTES,
    interval: Duration::from_millis(30),
    jitter: Duration::ZERO,
};
/// 1.5 Mbit/s in the longest frames, each at a random time within its interval. A full queue
/// favours the sender after the longest gap, and with eight senders in step that would always
/// be the same one.
const CBR: Stream = Stream {
    payload_bytes: 1472,
    interval: Duration::from_nanos(7_893_333),
    jitter: Duration::from_nanos(7_893_333 / 2),
};

impl Pattern {
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Voip => "voip",
            Self::Cbr => "cbr",
            Self::Mixed => "mixed",
            Self::Lone => "lone",
        }
    }

    pub fn flow(self, station: usize) -> Option<Flow> {
        match self {
            Self::Tcp => Some(Flow::Tcp),
            Self::Voip => Some(Flow::Udp(VOIP)),
            Self::Cbr => Some(Flow::Udp(CBR)),
            Self::Mixed if station < STATIONS / 2 => Some(Flow::Udp(VOIP)),
            Self::Mixed => Some(Flow::Tcp),
            Self::Lone => (station == 0).then_some(Flow::Udp(VOIP)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_bps(stream: Stream) -> f64 {
        let bytes = stream.payload_bytes + UDP_HEADER_BYTES;
        8.0 * bytes as f64 / stream.interval.as_secs_f64()
    }

    #[test]
    fn streams_have_the_papers_rates() {
        assert!((rate_bps(VOIP) - 93_333.0).abs() < 1.0);
        assert!((rate_bps(CBR) - 1_500_000.0).abs() < 1.0);
    }
}

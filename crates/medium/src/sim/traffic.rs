//! Traffic sources.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::{Direction, NodeId};

/// Frames between one station and the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The station.
    pub station: NodeId,
    /// The direction.
    pub direction: Direction,
    /// The pattern.
    pub traffic: Traffic,
    /// The time until its first frame.
    pub start_ns: u64,
}

/// Lengths are of Ethernet frames without FCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// One frame every `interval_ns`, give or take up to `jitter_ns`.
    Cbr {
        /// Of each packet.
        bytes: u32,
        /// The time between packets.
        interval_ns: u64,
        /// The largest random deviation from it.
        jitter_ns: u64,
    },
    /// A few frames are always queued.
    Saturated {
        /// Of each packet.
        bytes: u32,
    },
    /// Frames every `interval_ns` for `on_ns`, then none for `off_ns`.
    OnOff {
        /// Of each packet.
        bytes: u32,
        /// The time between packets, during talk.
        interval_ns: u64,
        /// The duration of talk.
        on_ns: u64,
        /// The duration of silence after it.
        off_ns: u64,
    },
}

/// The queue of a saturated source.
const SATURATION_FRAMES: usize = 3;

impl Traffic {
    /// SoCPS's VoIP: 350 bytes of UDP, RTP and voice every 30 ms, which are 93 kbit/s; here
    /// with IP and Ethernet headers (section 5.1).
    pub fn voip() -> Self {
        const IP_AND_ETHERNET_BYTES: u32 = 20 + 14;
        Traffic::Cbr {
            bytes: 350 + IP_AND_ETHERNET_BYTES,
            interval_ns: 30_000_000,
            jitter_ns: 0,
        }
    }

    /// SoCPS's 1.5 Mbit/s in the longest frames, slightly irregular so that senders are not in
    /// step.
    pub fn cbr_1m5() -> Self {
        Traffic::Cbr {
            bytes: 1514,
            interval_ns: 8_000_000,
            jitter_ns: 800_000,
        }
    }

    /// Of each packet.
    pub fn bytes(&self) -> u32 {
        match *self {
            Traffic::Cbr { bytes, .. }
            | Traffic::Saturated { bytes }
            | Traffic::OnOff { bytes, .. } => bytes,
        }
    }
}

pub(super) struct Source {
    pub flow: Flow,
    on_since_ns: Option<u64>,
}

impl Source {
    pub fn new(flow: Flow) -> Self {
        Source {
            flow,
            on_since_ns: None,
        }
    }

    pub fn is_saturated(&self) -> bool {
        matches!(self.flow.traffic, Traffic::Saturated { .. })
    }

    /// At its start, where a transmitter takes up to `aggregate_frames` at once.
    pub fn frames_at_once(&self, aggregate_frames: usize) -> usize {
        if self.is_saturated() {
            aggregate_frames - 1 + SATURATION_FRAMES
        } else {
            1
        }
    }

    /// When the frame after that of `now_ns` is due.
    pub fn next_ns(&mut self, now_ns: u64, random: &mut Pcg64Mcg) -> Option<u64> {
        match self.flow.traffic {
            Traffic::Saturated { .. } => None,
            Traffic::Cbr {
                interval_ns,
                jitter_ns,
                ..
            } => {
                let jitter_ns = jitter_ns.min(interval_ns);
                let late_ns = random.random_range(0..=2 * jitter_ns);
                Some(now_ns + interval_ns - jitter_ns + late_ns)
            }
            Traffic::OnOff {
                interval_ns,
                on_ns,
                off_ns,
                ..
            } => {
                let since_ns = *self.on_since_ns.get_or_insert(now_ns);
                let next_ns = now_ns + interval_ns;
                if next_ns - since_ns < on_ns {
                    return Some(next_ns);
                }
                self.on_since_ns = None;
                Some(since_ns + on_ns + off_ns)
            }
        }
    }
}

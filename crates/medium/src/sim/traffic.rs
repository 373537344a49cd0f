//! What sends.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::NodeId;

/// Frames between one station and the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Which one.
    pub station: NodeId,
    /// To it, or from it.
    pub direction: Direction,
    /// How much, and when.
    pub traffic: Traffic,
    /// From now until its first frame.
    pub start_ns: u64,
}

/// Which way packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the access point.
    Down,
    /// From the station.
    Up,
}

/// Lengths are those of Ethernet frames without FCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// One frame every `interval_ns`, give or take up to `jitter_ns`.
    Cbr {
        /// Of each packet.
        bytes: u32,
        /// From packet to packet.
        interval_ns: u64,
        /// At most so much earlier or later, by chance.
        jitter_ns: u64,
    },
    /// There are always a few frames waiting.
    Saturated {
        /// Of each packet.
        bytes: u32,
    },
    /// Frames every `interval_ns` for `on_ns`, then none for `off_ns`.
    OnOff {
        /// Of each packet.
        bytes: u32,
        /// From packet to packet, while it talks.
        interval_ns: u64,
        /// How long it talks.
        on_ns: u64,
        /// How long it is silent then.
        off_ns: u64,
    },
}

/// What a saturated source keeps waiting.
const SATURATION_FRAMES: usize = 3;

impl Traffic {
    /// The paper's VoIP: 350 bytes of UDP, RTP and voice every 30 ms, which
    /// are 93 kbit/s; here with IP and Ethernet headers (paper 003, section
    /// 5.1).
    pub fn voip() -> Self {
        const IP_AND_ETHERNET_BYTES: u32 = 20 + 14;
        Traffic::Cbr {
            bytes: 350 + IP_AND_ETHERNET_BYTES,
            interval_ns: 30_000_000,
            jitter_ns: 0,
        }
    }

    /// The paper's 1.5 Mbit/s in the longest frames, slightly irregular so that
    /// senders do not march in step.
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

    pub fn frames_at_once(&self) -> usize {
        if self.is_saturated() {
            SATURATION_FRAMES
        } else {
            1
        }
    }

    /// When the frame after the one of `now_ns` is due.
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

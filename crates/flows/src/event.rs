use serde::{Deserialize, Serialize};

use crate::sample::{CongestionState, Limit};

/// An event of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    #[serde(flatten)]
    pub what: What,
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The flow's id.
    pub flow: u64,
    /// The window at that time, in segments.
    pub cwnd_segments: u32,
    /// The threshold at that time; `None` until a loss has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssthresh_segments: Option<u32>,
    /// The segments in flight at that time.
    pub in_flight_segments: u32,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// A packet was sent again.
    Retransmit {
        /// Its segments.
        segments: u32,
    },
    /// The retransmission timer expired.
    Timeout,
    /// Loss recovery changed its state.
    State {
        /// Before.
        from: CongestionState,
        /// Afterwards.
        to: CongestionState,
    },
    /// Acknowledgements reported marks on own segments.
    EcnEcho {
        /// Since the last event of this kind.
        segments: u32,
    },
    /// Packets arrived marked.
    EcnMark {
        /// Since the last event of this kind.
        packets: u32,
    },
    /// The flow's limit changed: a window is full, or no longer full.
    Limit {
        /// Before.
        from: Limit,
        /// Afterwards.
        to: Limit,
    },
}

impl What {
    /// In a few words.
    pub fn text(&self) -> String {
        match self {
            Self::Retransmit { segments: 1 } => "1 segment retransmitted".to_owned(),
            Self::Retransmit { segments } => format!("{segments} segments retransmitted"),
            Self::Timeout => "retransmission timeout".to_owned(),
            Self::State { from, to } => format!("{from} -> {to}"),
            Self::EcnEcho { segments: 1 } => "1 segment was marked (ECN)".to_owned(),
            Self::EcnEcho { segments } => format!("{segments} segments were marked (ECN)"),
            Self::EcnMark { packets: 1 } => "1 packet came marked (ECN)".to_owned(),
            Self::EcnMark { packets } => format!("{packets} packets came marked (ECN)"),
            Self::Limit { to, .. } => match to {
                Limit::Window => "congestion window full".to_owned(),
                Limit::Receiver => "receiver's window full".to_owned(),
                Limit::None => "room in the window".to_owned(),
            },
        }
    }
}

use serde::{Deserialize, Serialize};

use crate::sample::{CongestionState, Limit};

/// Something that happened to a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What it was.
    #[serde(flatten)]
    pub what: What,
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The flow's id.
    pub flow: u64,
    /// As the kernel had them when it told of it.
    pub cwnd_segments: u32,
    /// Likewise; `None` until a loss has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssthresh_segments: Option<u32>,
    /// Likewise.
    pub in_flight_segments: u32,
}

/// What can happen to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// A packet was sent again.
    Retransmit {
        /// How many that packet held.
        segments: u32,
    },
    /// The retransmission timer ran out.
    Timeout,
    /// Loss recovery went on to another state.
    State {
        /// Before.
        from: CongestionState,
        /// From now on.
        to: CongestionState,
    },
    /// Acknowledgements said that own segments were marked.
    EcnEcho {
        /// Since the last event of this kind.
        segments: u32,
    },
    /// Packets came marked.
    EcnMark {
        /// Since the last event of this kind.
        packets: u32,
    },
    /// Another thing holds it back: a window that is full, or that is not any more.
    Limit {
        /// Before.
        from: Limit,
        /// From now on.
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

use std::fmt;

use serde::{Deserialize, Serialize};

/// A flow at one moment. Segments are as the kernel counts them, of `mss_bytes` at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The flow's id.
    pub flow: u64,
    /// Of the connection.
    pub state: State,
    /// Of its loss recovery.
    pub congestion_state: CongestionState,
    /// What holds it back now.
    pub limit: Limit,
    /// The congestion window.
    pub cwnd_segments: u32,
    /// `None` until a loss has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssthresh_segments: Option<u32>,
    /// The bounds that the congestion control `takt` keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_segments: Option<u32>,
    /// Likewise; both are `None` of a flow that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_segments: Option<u32>,
    /// Sent, and neither arrived nor taken for lost, as far as is known.
    pub in_flight_segments: u32,
    /// What a segment holds now, at most.
    pub mss_bytes: u32,
    /// Smoothed; `None` until one was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<u32>,
    /// How much it varies: the mean deviation.
    pub rtt_var_us: u32,
    /// The least of the kernel's last minutes (net.ipv4.tcp_min_rtt_wlen); `None` until there is
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_min_us: Option<u32>,
    /// How fast own bytes arrived lately, as the kernel reckons; 0 until it has.
    pub delivery_bytes_ps: u64,
    /// The application gave no more than that.
    pub is_app_limited: bool,
    /// Written and not acknowledged.
    pub send_queue_bytes: u32,
    /// Of these, never sent.
    pub unsent_bytes: u32,
    /// What they take of memory.
    pub send_memory_bytes: u32,
    /// Come and not read.
    pub receive_queue_bytes: u32,
    /// The receiver's window, as the peer said last.
    pub peer_window_bytes: u32,
    /// What is left of the window that this end has offered.
    pub own_window_bytes: u32,
    /// Own bytes that were acknowledged, since the connection began.
    pub acked_bytes: u64,
    /// The peer's bytes that came, likewise.
    pub received_bytes: u64,
    /// Own segments that arrived, likewise.
    pub delivered_segments: u32,
    /// Own segments taken for lost, likewise.
    pub lost_segments: u32,
    /// Own segments sent again, likewise.
    pub retransmitted_segments: u32,
    /// Times that the retransmission timer ran out, likewise.
    pub timeouts: u32,
    /// Own segments of which the receiver said that they were marked.
    pub ecn_echo_segments: u32,
    /// Packets that came marked, since the monitor is there.
    pub ecn_mark_packets: u32,
}

/// TCP's, as RFC 9293 has them; those without a window are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Both ends may send.
    Established,
    /// This end has asked for it.
    SynSent,
    /// The peer has, and this end has answered.
    SynReceived,
    /// This end has closed, which is not acknowledged.
    #[serde(rename = "fin-wait-1")]
    FinWait1,
    /// This end has closed, and the peer has not.
    #[serde(rename = "fin-wait-2")]
    FinWait2,
    /// The peer has closed, and this end has not.
    CloseWait,
    /// Then this end has, too, which is not acknowledged.
    LastAck,
    /// Both have at the same time, and the own is not acknowledged.
    Closing,
    /// None of these.
    Other,
}

/// Where loss recovery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionState {
    /// Nothing is the matter.
    Open,
    /// Duplicate acknowledgements, and nothing taken for lost yet.
    Disorder,
    /// The window shrinks because of ECN or a full queue of the host's own.
    Cwr,
    /// Fast retransmit.
    Recovery,
    /// After a timeout.
    Loss,
    /// None of these: a later kernel's.
    Other,
}

/// What holds a flow back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Neither window: the application, the send buffer, or pacing.
    None,
    /// The congestion window is full.
    Window,
    /// The receiver's window is.
    Receiver,
}

/// What is not numbered here a later kernel may have.
impl From<u8> for State {
    fn from(state: u8) -> Self {
        match state {
            1 => Self::Established,
            2 => Self::SynSent,
            3 => Self::SynReceived,
            4 => Self::FinWait1,
            5 => Self::FinWait2,
            8 => Self::CloseWait,
            9 => Self::LastAck,
            11 => Self::Closing,
            _ => Self::Other,
        }
    }
}

impl From<u16> for CongestionState {
    fn from(state: u16) -> Self {
        match state {
            0 => Self::Open,
            1 => Self::Disorder,
            2 => Self::Cwr,
            3 => Self::Recovery,
            4 => Self::Loss,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Established => "established",
            Self::SynSent => "syn-sent",
            Self::SynReceived => "syn-received",
            Self::FinWait1 => "fin-wait-1",
            Self::FinWait2 => "fin-wait-2",
            Self::CloseWait => "close-wait",
            Self::LastAck => "last-ack",
            Self::Closing => "closing",
            Self::Other => "other",
        })
    }
}

impl fmt::Display for CongestionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
            Self::Other => "other",
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "-",
            Self::Window => "window",
            Self::Receiver => "receiver",
        })
    }
}

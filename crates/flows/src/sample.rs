use std::fmt;

use serde::{Deserialize, Serialize};

/// A flow at one moment. Segments are counted as the kernel does, of `mss_bytes` at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The flow's id.
    pub flow: u64,
    /// The connection's state.
    pub state: State,
    /// The state of loss recovery.
    pub congestion_state: CongestionState,
    /// The flow's limit at that time.
    pub limit: Limit,
    /// The congestion window.
    pub cwnd_segments: u32,
    /// `None` until a loss has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssthresh_segments: Option<u32>,
    /// The bounds that the congestion control `takt` keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_segments: Option<u32>,
    /// The upper bound; both are `None` for a flow without bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_segments: Option<u32>,
    /// Sent, and neither acknowledged nor counted as lost.
    pub in_flight_segments: u32,
    /// The largest segment at that time.
    pub mss_bytes: u32,
    /// Smoothed; `None` until one was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<u32>,
    /// The mean deviation of round trips.
    pub rtt_var_us: u32,
    /// The shortest of the kernel's last minutes (net.ipv4.tcp_min_rtt_wlen); `None` until
    /// there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_min_us: Option<u32>,
    /// The kernel's estimate of the recent rate of delivery; 0 until there is one.
    pub delivery_bytes_ps: u64,
    /// The application limited that rate.
    pub is_app_limited: bool,
    /// Written and not acknowledged.
    pub send_queue_bytes: u32,
    /// Of these, not sent yet.
    pub unsent_bytes: u32,
    /// The memory that they use.
    pub send_memory_bytes: u32,
    /// Received and not read.
    pub receive_queue_bytes: u32,
    /// The receiver's window, as last announced.
    pub peer_window_bytes: u32,
    /// The rest of the window that this end has announced.
    pub own_window_bytes: u32,
    /// Own bytes that were acknowledged, since the connection began.
    pub acked_bytes: u64,
    /// Bytes received from the peer, since the connection began.
    pub received_bytes: u64,
    /// Own segments that arrived, since the connection began.
    pub delivered_segments: u32,
    /// Own segments counted as lost, since the connection began.
    pub lost_segments: u32,
    /// Own segments sent again, since the connection began.
    pub retransmitted_segments: u32,
    /// Expiries of the retransmission timer, since the connection began.
    pub timeouts: u32,
    /// Own segments that the receiver reported as marked.
    pub ecn_echo_segments: u32,
    /// Packets that arrived marked, since the monitor was loaded.
    pub ecn_mark_packets: u32,
}

/// TCP's states (RFC 9293), without those that have no window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Both ends may send.
    Established,
    /// This end has sent a SYN.
    SynSent,
    /// The peer has sent a SYN, and this end has answered.
    SynReceived,
    /// This end has closed, which is not acknowledged.
    #[serde(rename = "fin-wait-1")]
    FinWait1,
    /// This end has closed, and the peer has not.
    #[serde(rename = "fin-wait-2")]
    FinWait2,
    /// The peer has closed, and this end has not.
    CloseWait,
    /// The peer has closed, then this end, which is not acknowledged.
    LastAck,
    /// Both have closed at the same time, and this end's is not acknowledged.
    Closing,
    /// None of these.
    Other,
}

/// The state of loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionState {
    /// Normal.
    Open,
    /// Duplicate acknowledgements, and nothing counted as lost yet.
    Disorder,
    /// The window shrinks because of ECN or a full queue of the host's own.
    Cwr,
    /// Fast retransmit.
    Recovery,
    /// After a timeout.
    Loss,
    /// Another state, of a later kernel.
    Other,
}

/// What limits a flow.
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

/// Other numbers are of a later kernel.
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

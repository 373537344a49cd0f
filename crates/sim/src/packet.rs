//! Packets, the flows that they belong to, and packets that are lost.

use serde::Serialize;
use takt_algo::sys::takt_key;

/// A packet on its way from its sender to the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packet {
    /// The index of its flow.
    pub flow: u32,
    /// Its Ethernet frame without checksum, as the kernel counts.
    pub bytes: u32,
    /// Counts the flow's packets, from 0 on; a retransmission has the number of the original.
    pub number: u64,
    /// When it came to the qdisc.
    pub arrived_ns: u64,
    /// It bears a congestion mark (CE, RFC 3168).
    pub is_marked: bool,
}

/// A packet's ECN field as its sender sets it, in the numbers of `algo/ecn.h`.
pub type Codepoint = u32;

/// A flow, as far as queues know it. What every packet needs is in front, on one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Flow {
    /// The number of its socket on this host; 0: its packets are forwarded.
    pub socket: u64,
    /// The rate that its socket is limited to; 0: it is not.
    pub pacing_bps: u64,
    /// Its class by the policy's rules, as the planner numbers classes.
    pub class: u32,
    /// What its sender says about marks.
    pub ecn: Codepoint,
    /// The priority of the task that sends, as `algo/gate.h` counts; 0: it is of another host.
    pub task_prio: u32,
    /// The station that it goes to, in the traffic file's order; 0 without stations.
    pub station: u32,
    /// What its packets' headers say.
    pub key: takt_key,
}

impl Flow {
    /// Whether its packets may be marked.
    pub fn understands_marks(&self) -> bool {
        self.ecn != takt_algo::sys::TAKT_ECN_NOT
    }
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It found its queue full.
    QueueFull,
    /// Queue management dropped it (CoDel, RFC 8289).
    Managed,
    /// Its departure time was too far ahead.
    BeyondHorizon,
    /// It was repeated as often as the radio repeats a frame, and no answer came.
    OnAir,
}

/// A packet that did not leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The packet.
    pub packet: Packet,
    /// The reason.
    pub why: Why,
}

//! The counters of a link: the parts of its memory that count packets, without the megabytes
//! that order them.

use takt_algo::sys::{takt_blocked, takt_entity, takt_flow, takt_stations};

/// As of about one moment: the kernel goes on while it is read, but each number is consistent.
pub(crate) struct Counted {
    pub queued_packets: u32,
    pub blocked: takt_blocked,
    /// By id: first classes and tenants, then every flow and station so far.
    pub entities: Vec<takt_entity>,
    /// The entities of flows and stations, in the same order.
    pub flows: Vec<takt_flow>,
    pub stations: Box<takt_stations>,
    pub live_flows: u32,
    pub created_flows: u64,
    pub forgotten_flows: u64,
    /// Packets that found no room for their flow.
    pub no_room_packets: u64,
    pub departures: Departures,
    /// On CLOCK_MONOTONIC.
    pub thinning_paused_until_ns: u64,
}

/// Packets with departure times.
pub(crate) struct Departures {
    pub waiting_packets: u32,
    pub held_packets: u64,
    pub beyond_packets: u64,
    pub no_room_packets: u64,
}

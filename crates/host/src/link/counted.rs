//! What a link has counted: those parts of its memory that tell of packets, and none of the
//! megabytes that put them in order.

use takt_algo::sys::{takt_element, takt_flow, takt_held, takt_stations};

/// As of about one moment: the kernel goes on while it is read, and each number in itself is whole.
pub(crate) struct Counted {
    pub queued_packets: u32,
    pub held: takt_held,
    /// By their ids: what may be a class or a tenant, then each flow and station that has ever been.
    pub elements: Vec<takt_element>,
    /// Those of the last, in the same order.
    pub flows: Vec<takt_flow>,
    pub stations: Box<takt_stations>,
    pub live_flows: u32,
    pub created_flows: u64,
    pub forgotten_flows: u64,
    /// Packets that found no room for their flow.
    pub no_room_packets: u64,
}

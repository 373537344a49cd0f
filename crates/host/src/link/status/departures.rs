//! Packets that leave no earlier than their departure times.

use serde::Serialize;

use crate::link::counted::Counted;

/// All of a link's packets with a departure time in the future, since takt was attached.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct DepartureStatus {
    /// Held now.
    pub waiting_packets: u32,
    /// Held until their time, those that are held now included.
    pub delayed_packets: u64,
    /// Whose time was beyond the horizon: dropped or capped, as the policy says.
    pub beyond_horizon_packets: u64,
    /// That left without regard to their time, since 16,383 others were held.
    pub undelayed_packets: u64,
}

pub(super) fn status(counted: &Counted) -> DepartureStatus {
    let departures = &counted.departures;
    DepartureStatus {
        waiting_packets: departures.waiting_packets,
        delayed_packets: departures.held_packets,
        beyond_horizon_packets: departures.beyond_packets,
        undelayed_packets: departures.no_room_packets,
    }
}

//! The cards of the network's nodes.

use takt_vduse::{NetConfig, SHORTEST_RING};

use super::plan::{ACCESS_POINT, ACCESS_POINT_MAC, STATIONS_MAX, Station};
use crate::experiment::card::Card;
use crate::experiment::error::Result;
use crate::experiment::namespace::Namespace;

pub fn of_access_point() -> Result<Card> {
    Card::new(&config(ACCESS_POINT, ACCESS_POINT_MAC))
}

pub fn of_station(station: Station) -> Result<Card> {
    Card::new(&config(station.namespace(), station.mac()))
}

/// Removes the devices of a process that has died.
pub fn remove_leftovers() -> Result<()> {
    let stations = Station::first(STATIONS_MAX).map(Station::namespace);
    let mut owners = stations.chain([ACCESS_POINT]);
    owners.try_for_each(|owner| Card::remove_leftover(&name(owner)))
}

/// A driver's ring is as short as possible: packets wait in the qdisc.
fn config(owner: Namespace, mac: [u8; 6]) -> NetConfig {
    NetConfig {
        name: name(owner),
        mac,
        transmit_ring: SHORTEST_RING,
    }
}

/// On the bus, and under `/dev/vduse`.
fn name(owner: Namespace) -> String {
    format!("takt-{}", owner.0)
}

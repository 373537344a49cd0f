//! Names and addresses.

use std::net::Ipv4Addr;

use crate::experiment::namespace::Namespace;

/// The interface on the air: the access point's, to which schedulers are attached, and every
/// station's.
pub const DEVICE: &str = "wlan0";

pub const SERVER: Namespace = Namespace("server");
pub const ACCESS_POINT: Namespace = Namespace("ap");
const STATIONS: [Namespace; STATIONS_MAX] = [
    Namespace("sta1"),
    Namespace("sta2"),
    Namespace("sta3"),
    Namespace("sta4"),
    Namespace("sta5"),
    Namespace("sta6"),
    Namespace("sta7"),
    Namespace("sta8"),
    Namespace("sta9"),
    Namespace("sta10"),
];
pub const STATIONS_MAX: usize = 10;

/// The wire's end at the server.
pub const WIRE: &str = "wire0";
/// Its end at the access point.
pub const UPLINK: &str = "wire1";
pub const BRIDGE: &str = "br0";

pub const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 1);
/// The bridge's, for stations that report.
pub const ACCESS_POINT_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 2);
pub const PREFIX_LENGTH: u8 = 24;
pub const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const ACCESS_POINT_MAC: [u8; 6] = [2, 0, 0, 0, 1, 0];
pub const BRIDGE_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// A station, by its number from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station(u8);

impl Station {
    /// The first `count`, of [`STATIONS_MAX`] at most.
    pub fn first(count: usize) -> impl Iterator<Item = Self> + Clone {
        (0..count.min(STATIONS_MAX) as u8).map(Self)
    }

    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub fn namespace(self) -> Namespace {
        STATIONS[self.index()]
    }

    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 8, 0, 11 + self.0)
    }

    pub fn mac(self) -> [u8; 6] {
        [2, 0, 0, 0, 1, 1 + self.0]
    }
}

/// As `ip` writes it.
pub fn shown(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_share_a_name_or_an_address() {
        let stations: Vec<_> = Station::first(99).collect();
        assert_eq!(stations.len(), STATIONS_MAX);
        for (at, one) in stations.iter().enumerate() {
            for other in &stations[at + 1..] {
                assert_ne!(one.mac(), other.mac());
                assert_ne!(one.address(), other.address());
                assert_ne!(one.namespace().0, other.namespace().0);
            }
            assert!(![SERVER_MAC, ACCESS_POINT_MAC, BRIDGE_MAC].contains(&one.mac()));
        }
        assert_eq!(shown(stations[7].mac()), "02:00:00:00:01:08");
    }
}

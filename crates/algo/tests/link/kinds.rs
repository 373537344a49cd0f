//! What a station's entity carries: TCP has less of a share than its station's weight says, and an
//! entity's kind follows its packets.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use takt_algo::{
    Address, Port, Sender,
    sys::{self, TAKT_KIND_PACKETS, takt_key, takt_plan},
};

use super::stations::{NS_PER_S, WHOLE, air};

const TCP: u8 = 6;
const UDP: u8 = 17;
const TO: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

struct Ap {
    port: Port,
    plan: Box<takt_plan>,
}

impl Ap {
    /// Of one class, which sends to one station of this weight.
    fn new(weight_ppm: u32) -> Self {
        let mut plan = air(&[1_000_000]);
        plan.stations = sys::TAKT_STATIONS_IP;
        let mut port = Port::new(&plan, 1514);
        let mut stations = port.stations();
        stations.beat(NS_PER_S);
        let set = stations.set(Address::Ip(IpAddr::V4(TO)), weight_ppm, false);
        assert_eq!(set, Ok(()));
        Self { port, plan }
    }

    /// The part of its class's weight that its entity has after these packets of this protocol.
    fn scale_ppm(&mut self, proto: u8, packets: u32) -> u32 {
        let key = takt_key {
            family: sys::TAKT_FAMILY_IPV4 as u8,
            proto,
            dst: [u32::from_ne_bytes(TO.octets()), 0, 0, 0],
            ..takt_key::default()
        };
        let mut id = 0;
        for _ in 0..packets {
            let sender = Sender {
                key: &key,
                socket: 0,
            };
            id = self.port.entity_of(&self.plan, sender, NS_PER_S);
        }
        self.port.link().entity(id).scale_ppm
    }
}

proptest! {
    #[test]
    fn tcp_has_the_fourth_power_of_a_weight_or_a_hundredth(weight_ppm in sys::TAKT_SCALE_MIN..=WHOLE) {
        let weight = f64::from(weight_ppm) / f64::from(WHOLE);
        let expected = weight.powi(4).max(0.01).min(weight) * f64::from(WHOLE);
        let got = Ap::new(weight_ppm).scale_ppm(TCP, 1);
        prop_assert!((f64::from(got) - expected).abs() <= 3.0, "{} of {}", got, expected);
        prop_assert_eq!(Ap::new(weight_ppm).scale_ppm(UDP, 1), weight_ppm);
    }
}

#[test]
fn a_kind_changes_by_its_packets() {
    let mut ap = Ap::new(WHOLE / 2);
    let (tcp_ppm, udp_ppm) = (WHOLE / 16, WHOLE / 2);
    assert_eq!(ap.scale_ppm(TCP, 1), tcp_ppm);
    assert_eq!(ap.scale_ppm(UDP, TAKT_KIND_PACKETS - 1), tcp_ppm);
    assert_eq!(ap.scale_ppm(UDP, 1), udp_ppm);
    assert_eq!(ap.scale_ppm(TCP, TAKT_KIND_PACKETS - 1), udp_ppm);
    assert_eq!(ap.scale_ppm(TCP, 1), tcp_ppm);
}

/// A call beside a download is no change, and neither are as many packets of both.
#[test]
fn a_kind_stays_with_the_most() {
    let mut ap = Ap::new(WHOLE / 2);
    for _ in 0..100 {
        assert_eq!(ap.scale_ppm(TCP, 1), WHOLE / 16);
        assert_eq!(ap.scale_ppm(UDP, 1), WHOLE / 16);
    }
}

//! Stations behind the far end of a wire, and their weights.

use std::{net::UdpSocket, thread, time::Duration};

use nix::sys::socket::{setsockopt, sockopt::SndBufForce};
use takt_host::stations::{Address, Station, Stations};

use crate::{shell::run, takt::apply, wire::Wire};

/// A frame takes [`FRAME_NS`].
pub const AIR: &str = r#"
[link.near1]
rate = "1mbit"

[[link.near1.class]]
name = "default"
queue_packets = 200

[radio]
"#;

const FRAME_BYTES: usize = 1000;
pub const FRAME_NS: u64 = FRAME_BYTES as u64 * 8 * 1000;
const HEADERS_BYTES: usize = 42;
pub const WHOLE: u32 = 1_000_000;
/// Room for all packets of a test.
const BUFFER_BYTES: usize = 16 << 20;

/// The most packets of the kernel's own neighbour discovery.
const SMALL_TALK: u64 = 10;

/// Hosts behind the far end, each with an address of its own.
pub struct Air {
    pub wire: Wire,
    pub sender: UdpSocket,
}

impl Air {
    pub fn new(policy: &str) -> Self {
        let wire = Wire::new(1);
        for n in 1..=3 {
            let (ip, mac) = (ip(n), mac(n));
            run(&format!(
                "ip neigh add {ip} lladdr {mac} nud permanent dev near1"
            ))
            .ok();
        }
        apply(policy).ok();
        let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
        // Throttled packets fill it, and no other station could be sent to.
        setsockopt(&sender, SndBufForce, &BUFFER_BYTES).unwrap();
        Self { wire, sender }
    }

    /// Assert that so many packets came out at the far end.
    #[track_caller]
    pub fn assert_arrived(&self, packets: u64) {
        let received = self.wire.received().packets;
        let expected = packets..=packets + SMALL_TALK;
        assert!(expected.contains(&received), "{received} of {packets}");
    }

    pub fn send(&self, n: u8, port: u16, frames: usize) {
        let payload = [0; FRAME_BYTES - HEADERS_BYTES];
        for _ in 0..frames {
            self.sender.send_to(&payload, (ip(n), port)).unwrap();
        }
    }
}

fn ip(n: u8) -> String {
    format!("10.1.0.1{n}")
}

pub fn mac(n: u8) -> Address {
    format!("02:00:00:00:07:0{n}").parse().unwrap()
}

pub fn table() -> Stations {
    Stations::open("near1").expect("near1 has stations")
}

pub fn weigh(stations: &mut Stations, weights_ppm: &[u32]) {
    for (n, weight_ppm) in (1..).zip(weights_ppm) {
        stations.set(mac(n), *weight_ppm).expect("there is room");
    }
    stations.refresh();
}

pub fn of(stations: &Stations, n: u8) -> Station {
    let list = stations.list();
    let found = list.iter().find(|station| station.address == mac(n));
    found
        .cloned()
        .unwrap_or_else(|| panic!("no {n} in {list:#?}"))
}

/// The frames sent to each while this time passes.
pub fn sent_in(stations: &mut Stations, frames: u64, refresh: bool) -> [u64; 3] {
    let sent = |stations: &Stations| [1, 2, 3].map(|n| of(stations, n).counters.sent_packets);
    let before = sent(stations);
    for _ in 0..frames / 10 {
        thread::sleep(Duration::from_millis(80));
        if refresh {
            stations.refresh();
        }
    }
    let after = sent(stations);
    [0, 1, 2].map(|n| after[n] - before[n])
}

/// Each to within a frame, and one for the moment of the query.
#[track_caller]
pub fn assert_shares(sent: [u64; 3], weights: [u64; 3]) {
    let all: u64 = sent.iter().sum();
    let sum: u64 = weights.iter().sum();
    for (sent_one, weight) in sent.iter().zip(weights) {
        let want = (all * weight) as f64 / sum as f64;
        assert!(
            (*sent_one as f64 - want).abs() <= 2.0,
            "{sent:?}, {weights:?}"
        );
    }
}

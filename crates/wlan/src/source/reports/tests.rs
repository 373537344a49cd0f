//! Over this host's loopback.

use std::{
    net::{Ipv4Addr, UdpSocket},
    thread::sleep,
    time::Duration,
};

use proptest::prelude::*;
use takt_algo::{SocLaw, SocTerms};

use super::*;
use crate::{
    radio::{Action, Stations},
    sealed::{DATAGRAM_MAX_BYTES, Sender},
};

const INTERVAL_NS: u64 = 200_000_000;
const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// A socket is closed after this time.
const SILENT_NS: u64 = 60_000_000_000;

fn key(byte: u8) -> Key {
    Key::new(&[byte; 32])
}

fn report(number: u8, snr_centidb: i32) -> Report {
    Report {
        mac: Some([2, 0, 0, 0, 0, number]),
        v4: Some(HERE),
        v6: None,
        snr_centidb,
    }
}

struct Client {
    sender: Sender,
    socket: UdpSocket,
}

impl Client {
    fn new(port: u16, key: Key, own: &Report) -> Self {
        let socket = UdpSocket::bind((HERE, 0)).unwrap();
        socket.connect((HERE, port)).unwrap();
        let number = own.sender().unwrap();
        let sender = Sender::new(key, Purpose::RADIO, number, 1);
        Self { sender, socket }
    }

    fn say(&mut self, report: &Report) {
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        let sealed = self.sender.seal(&report.to_bytes(), &mut datagram);
        self.socket.send(sealed.unwrap()).unwrap();
    }
}

/// On an unused port.
fn listening() -> (Reports, u16) {
    let port = UdpSocket::bind((HERE, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    (Reports::listen(port, key(1), INTERVAL_NS).unwrap(), port)
}

fn heard(reports: &mut Reports, now_ns: u64) -> Vec<Sample> {
    // The kernel delivers over the loopback at once; this is for slow hosts.
    sleep(Duration::from_millis(5));
    let mut samples = Vec::new();
    reports.poll(now_ns, &mut samples).unwrap();
    samples
}

#[test]
fn clients_are_heard_and_only_for_themselves() {
    let (mut reports, port) = listening();
    let mut one = Client::new(port, key(1), &report(1, 0));
    one.say(&report(1, 500));
    assert_eq!(heard(&mut reports, 0), [report(1, 500).sample()]);
    // Another's hardware address, another's IP address, and no member at all.
    one.say(&report(2, 500));
    assert_eq!(heard(&mut reports, INTERVAL_NS), []);
    let v4 = Some(Ipv4Addr::new(192, 0, 2, 1));
    one.say(&Report {
        v4,
        ..report(1, 500)
    });
    assert_eq!(heard(&mut reports, 2 * INTERVAL_NS), []);
    Client::new(port, key(2), &report(3, 0)).say(&report(3, 500));
    assert_eq!(heard(&mut reports, 3 * INTERVAL_NS), []);
    let said = reports.datagrams().unwrap();
    let expected = Datagrams {
        read: 4,
        heard: 1,
        forged: 1,
        not_its_own: 2,
        ..Datagrams::default()
    };
    assert_eq!(said, expected);
    one.say(&report(1, 700));
    assert_eq!(
        heard(&mut reports, 4 * INTERVAL_NS),
        [report(1, 700).sample()]
    );
}

/// More than a socket holds, between any two readings.
#[test]
fn a_known_client_is_heard_through_a_flood() {
    let (mut reports, port) = listening();
    let mut members: Vec<_> = (0..8)
        .map(|n| Client::new(port, key(1), &report(n, 0)))
        .collect();
    for (member, n) in members.iter_mut().zip(0..) {
        member.say(&report(n, 100));
    }
    assert_eq!(heard(&mut reports, 0).len(), 8);
    let intruder = UdpSocket::bind((HERE, 0)).unwrap();
    for interval in 1..=5 {
        for _ in 0..5000 {
            let _ = intruder.send_to(&[0x54; 76], (HERE, port));
        }
        for (member, n) in members.iter_mut().zip(0..) {
            member.say(&report(n, 100));
        }
        assert_eq!(heard(&mut reports, interval * INTERVAL_NS).len(), 8);
    }
    let said = reports.datagrams().unwrap();
    assert!(said.malformed >= 5 * STRANGERS.burst() / 2, "{said:?}");
    // A member that falls silent leaves no socket behind, and every datagram was counted.
    heard(&mut reports, 5 * INTERVAL_NS + SILENT_NS);
    assert_eq!(reports.listener.own_count(), 0);
    heard(&mut reports, 6 * INTERVAL_NS + SILENT_NS);
    let said = reports.datagrams().unwrap();
    assert_eq!(said.heard, 6 * 8, "{said:?}");
    assert_eq!(said.read + said.dropped, 6 * 8 + 5 * 5000, "{said:?}");
}

/// However often sockets are read, the number of strangers' datagrams per second is bounded.
#[test]
fn a_flood_is_read_at_a_bounded_rate() {
    let (mut reports, port) = listening();
    let intruder = UdpSocket::bind((HERE, 0)).unwrap();
    let mut samples = Vec::new();
    for ms in 0..200 {
        for _ in 0..100 {
            let _ = intruder.send_to(&[0x54; 76], (HERE, port));
        }
        reports.poll(ms * 1_000_000, &mut samples).unwrap();
    }
    let said = reports.datagrams().unwrap();
    let most = STRANGERS.burst() + STRANGERS.per_second_count() / 5;
    assert!((most * 9 / 10..=most).contains(&said.read), "{said:?}");
}

proptest! {
    /// Replayed, cut, changed in any bit, or made up: no weight changes.
    #[test]
    fn no_weight_changes_but_by_a_report(
        spoils in prop::collection::vec((any::<usize>(), 0..4u8, any::<bool>()), 1..40),
    ) {
        let (mut reports, _) = listening();
        let law = SocLaw::Piecewise(vec![(0, 0), (1000, 1_000_000)]);
        let terms = SocTerms::new(INTERVAL_NS, 1_000_000, 1_000_000, &law);
        let (mut stations, mut actions) = (Stations::new(terms), Vec::new());
        let from = SocketAddr::from((HERE, 5));
        let number = report(1, 0).sender().unwrap();
        let mut sender = Sender::new(key(1), Purpose::RADIO, number, 1);
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        let first = sender.seal(&report(1, 500).to_bytes(), &mut datagram).unwrap().to_vec();
        let sample = reports.clients.hear(0, from, &first).unwrap();
        stations.hear(0, &sample, &mut actions).unwrap();
        let before: Vec<_> = stations.weights().collect();
        actions.clear();
        for (now, (at, how, is_next)) in spoils.into_iter().enumerate() {
            let now_ns = now as u64 * INTERVAL_NS;
            let mut spoiled = if is_next {
                sender.seal(&report(1, 900).to_bytes(), &mut datagram).unwrap().to_vec()
            } else {
                first.clone()
            };
            match how {
                0 => spoiled[at % first.len()] ^= 1 << (at % 8),
                1 => spoiled.truncate(at % first.len()),
                2 => spoiled.push(at as u8),
                _ => spoiled = first.clone(),
            }
            prop_assert_eq!(reports.clients.hear(now_ns, from, &spoiled), None);
            stations.tick(now_ns, false, &mut actions);
        }
        // Nothing decays here, so there are no changes at all.
        prop_assert_eq!(&actions, &Vec::<Action>::new());
        prop_assert_eq!(stations.weights().collect::<Vec<_>>(), before);
    }
}

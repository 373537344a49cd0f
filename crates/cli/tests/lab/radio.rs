//! Stations on a link: each has its share by class and weight, and is throttled at weight 0.

use std::{
    fmt::Write,
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

use takt_host::stations::{Address, Stations};

use crate::{
    air::{AIR, Air, FRAME_NS, WHOLE, assert_shares, mac, of, sent_in, table, weigh},
    kernel_bpf::wait_for,
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    shell::run,
    takt::{apply, assert_no_trace, link, takt},
    wire::Wire,
};

fn shares_follow_weights(air: &Air) {
    let mut stations = table();
    weigh(&mut stations, &[WHOLE, WHOLE / 2, WHOLE / 4]);
    for n in 1..=3 {
        air.send(n, 9, 190);
    }
    assert_shares(sent_in(&mut stations, 140, true), [4, 2, 1]);
    weigh(&mut stations, &[WHOLE / 4, WHOLE / 4, WHOLE]);
    assert_shares(sent_in(&mut stations, 120, true), [1, 1, 4]);
    let shown = takt("status").ok();
    assert!(shown.contains("02:00:00:00:07:03"), "{shown}");
    thread::sleep(Duration::from_secs(5));
    let end = link("near1");
    assert_eq!(end.queued_packets, 0);
    assert!(end.classes.iter().all(|class| class.adds_up()), "{end:#?}");
    air.assert_arrived(3 * 190);
}

#[test]
fn shares_follow_weights_on_the_default_kernel() {
    DEFAULT.run(|| shares_follow_weights(&Air::new(AIR)));
}

#[test]
fn shares_follow_weights_on_the_newest_kernel() {
    NEWEST.run(|| shares_follow_weights(&Air::new(AIR)));
}

#[test]
fn a_class_and_a_station_both_weigh() {
    let mut policy = AIR.to_owned();
    policy.push_str("[[link.near1.class]]\nname = \"voice\"\nweight = 3\nqueue_packets = 200\n");
    policy.push_str("match = { proto = \"udp\", dst_port = 5004 }\n");
    DEFAULT.run(|| {
        let air = Air::new(&policy);
        let mut stations = table();
        weigh(&mut stations, &[WHOLE, WHOLE / 2, 0]);
        // Weights 3, 0.5 and 1.
        air.send(1, 5004, 190);
        air.send(2, 9, 190);
        air.send(1, 9, 190);
        let before = link("near1");
        for _ in 0..18 {
            thread::sleep(Duration::from_millis(80));
            stations.refresh();
        }
        let sent = link("near1").sent_since(&before);
        let (voice, rest) = (sent["voice"], sent["default"]);
        assert!(voice.abs_diff(rest * 2) <= 4, "{voice} and {rest}");
        let second = of(&stations, 2).counters.sent_packets;
        assert!(second.abs_diff(rest / 3) <= 3, "{second} of {rest}");
    });
}

#[test]
fn weight_0_holds_until_the_queue_limit_and_recovers() {
    DEFAULT.run(|| {
        let air = Air::new(AIR);
        let mut stations = table();
        stations.set_by_hand(mac(1), 0).unwrap();
        air.send(1, 9, 250);
        air.send(2, 9, 50);
        thread::sleep(Duration::from_secs(8));
        let held = of(&stations, 1);
        assert!(held.held && held.by_hand, "{held:#?}");
        assert_eq!((held.queued_packets, held.counters.sent_packets), (200, 0));
        assert_eq!(held.counters.dropped_packets, 50);
        assert_eq!(of(&stations, 2).counters.sent_packets, 50);
        // The agent's weight does not replace one set by hand. A new one by hand applies at once,
        // even without further packets.
        stations.set(mac(1), WHOLE).unwrap();
        stations.refresh();
        thread::sleep(Duration::from_secs(1));
        assert_eq!(of(&stations, 1).queued_packets, 200);
        let start = Instant::now();
        stations.set_by_hand(mac(1), WHOLE).unwrap();
        thread::sleep(Duration::from_secs(1));
        let sent = of(&stations, 1).counters.sent_packets;
        let due = start.elapsed().as_nanos() as u64 / FRAME_NS;
        assert!((110..=due + 1).contains(&sent), "{sent} of {due}");
        thread::sleep(Duration::from_secs(2));
        let all = of(&stations, 1);
        assert_eq!((all.queued_packets, all.counters.sent_packets), (0, 200));
    });
}

#[test]
fn without_an_agent_shares_are_equal() {
    DEFAULT.run(|| {
        let air = Air::new(AIR);
        let mut stations = table();
        weigh(&mut stations, &[WHOLE / 10, WHOLE, 0]);
        air.send(3, 9, 50);
        for n in 1..=2 {
            air.send(n, 9, 10);
        }
        sent_in(&mut stations, 60, true);
        assert!(of(&stations, 3).held);
        thread::sleep(Duration::from_secs(6));
        assert_eq!(of(&stations, 3).queued_packets, 0);
        for n in 1..=3 {
            air.send(n, 9, 100);
        }
        assert_shares(sent_in(&mut stations, 90, false), [1, 1, 1]);
        // Weights count again once an agent refreshes them.
        stations.refresh();
        let sent = sent_in(&mut stations, 60, true);
        assert!(sent[2] <= 1 && sent[0] <= sent[1] / 10 + 2, "{sent:?}");
    });
}

#[test]
fn weights_stay_over_another_policy_and_go_with_takt() {
    DEFAULT.run(|| {
        let air = Air::new(AIR);
        let mut stations = table();
        stations.set_by_hand(mac(1), 0).unwrap();
        air.send(1, 9, 20);
        apply(&AIR.replace("1mbit", "2mbit")).ok();
        thread::sleep(Duration::from_secs(1));
        assert_eq!(of(&table(), 1).queued_packets, 20);
        assert!(stations.stand());
        // Without [radio] no station is throttled, and weights do not count.
        apply(AIR.strip_suffix("[radio]\n").unwrap()).ok();
        assert!(!stations.stand());
        thread::sleep(Duration::from_secs(1));
        assert_eq!(link("near1").queued_packets, 0);
        air.send(1, 9, 5);
        thread::sleep(Duration::from_secs(1));
        air.assert_arrived(25);
        assert!(Stations::open("near1").is_err());
        apply(AIR).ok();
        assert_eq!(of(&table(), 1).weight_ppm, 0);
        takt("revert").ok();
        assert_no_trace();
        let problem = Stations::open("near1").err().expect("nothing is there");
        assert!(
            problem.to_string().contains("does not pace it"),
            "{problem}"
        );
        apply(AIR).ok();
        assert_eq!(table().list().len(), 0);
    });
}

#[test]
fn more_stations_than_there_is_room_for_are_refused_and_count_as_1() {
    DEFAULT.run(|| {
        let air = Air::new(AIR);
        let mut stations = table();
        let other = |n: u32| Address::Mac([2, 0, 0, 1, (n >> 8) as u8, n as u8]);
        for n in 0..256 {
            stations.set_by_hand(other(n), 0).unwrap();
        }
        let full = stations.set_by_hand(mac(1), 0).expect_err("full");
        assert!(full.to_string().contains("256 stations"), "{full}");
        air.send(1, 9, 10);
        thread::sleep(Duration::from_secs(1));
        assert_eq!(of(&stations, 1).counters.sent_packets, 10);
        stations.let_go(other(3));
        stations.set_by_hand(mac(1), 0).unwrap();
        air.send(1, 9, 10);
        thread::sleep(Duration::from_secs(1));
        assert_eq!(of(&stations, 1).queued_packets, 10);
        let wrong = stations.set("192.0.2.1".parse().unwrap(), 0);
        let wrong = wrong.expect_err("an IP address").to_string();
        assert!(wrong.contains("known by MAC"), "{wrong}");
    });
}

#[test]
fn multicast_and_broadcast_are_nobodys() {
    DEFAULT.run(|| {
        let air = Air::new(AIR);
        let stations = table();
        air.sender.set_broadcast(true).unwrap();
        air.sender.send_to(&[0; 100], "10.1.0.255:9").unwrap();
        run("ip route add 224.0.0.0/4 dev near1").ok();
        air.sender.send_to(&[0; 100], "224.0.0.9:9").unwrap();
        thread::sleep(Duration::from_secs(1));
        assert_eq!(stations.list().len(), 0);
        // The kernel multicasts, too, about addresses of its own.
        assert!(link("near1").class("default").sent_packets >= 2);
    });
}

/// Without Ethernet headers the IP address identifies a station.
#[test]
fn are_known_by_ip_where_there_is_no_ethernet() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("ip link set lo up").ok();
        apply(&AIR.replace("near1", "lo")).ok();
        let mut stations = Stations::open("lo").expect("lo has stations");
        let first: Address = "127.0.0.5".parse().unwrap();
        stations.set_by_hand(first, 0).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let receiver = UdpSocket::bind("127.0.0.6:9").unwrap();
        for to in ["127.0.0.5:9", "127.0.0.6:9", "127.0.0.5:9"] {
            sender.send_to(&[0; 100], to).unwrap();
        }
        receiver.recv(&mut [0; 200]).unwrap();
        thread::sleep(Duration::from_secs(1));
        let list = stations.list();
        let held = list.iter().find(|station| station.address == first);
        assert_eq!(held.expect("it is listed").queued_packets, 2);
        assert!(stations.set(mac(1), 0).is_err());
        drop(wire);
    });
}

/// Weights change all the time under load, on several processors.
#[test]
fn nothing_is_lost_while_weights_change_under_load() {
    TWO_PROCESSORS.run(|| {
        let air = Air::new(&AIR.replace("1mbit", "100mbit"));
        let mut stations = table();
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                for _ in 0..300 {
                    for n in 1..=3 {
                        air.send(n, 9, 10);
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let mut turn = 0u32;
            while !sending.is_finished() {
                turn = turn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let n = 1 + (turn >> 8) as u8 % 3;
                match turn >> 28 {
                    0..4 => stations.set(mac(n), 0).unwrap(),
                    4..12 => stations.set(mac(n), turn % WHOLE).unwrap(),
                    12 => stations.forget(mac(n)),
                    _ => stations.refresh(),
                }
                thread::sleep(Duration::from_micros(200));
            }
        });
        weigh(&mut stations, &[WHOLE; 3]);
        wait_for(|| link("near1").queued_packets == 0);
        let end = link("near1");
        assert!(end.classes.iter().all(|class| class.adds_up()), "{end:#?}");
        let offered = end.class("default").offered_packets();
        assert!(offered >= 9000, "{offered}");
        air.assert_arrived(end.class("default").sent_packets);
    });
}

#[test]
fn what_cannot_be_is_refused() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let mut per_flow = AIR.to_owned();
        let _ = write!(
            per_flow,
            "[[link.near1.class]]\nname = \"a\"\nrate = \"1kbit\"\nper_flow = true\n\
             match = {{ proto = \"udp\" }}\n"
        );
        let elsewhere = format!("{AIR}links = [\"near2\"]\n");
        for (policy, code) in [
            (per_flow, "takt::policy::stations_per_flow"),
            (elsewhere, "takt::policy::unknown_link"),
            ("[radio]\n".to_owned(), "takt::policy::no_stations"),
        ] {
            apply(&policy).says(&[code]).ends_with(2);
        }
        assert_no_trace();
        apply("[link.near1]\nrate = \"1mbit\"\n").ok();
        let none = Stations::open("near1").err().expect("no stations");
        assert!(none.to_string().contains("[radio]"), "{none}");
        let nobody = Stations::open("nobody").err().expect("no device");
        assert!(nobody.to_string().contains("no such device"), "{nobody}");
    });
}

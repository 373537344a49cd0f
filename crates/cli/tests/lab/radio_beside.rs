//! Stations beside other features of a link: gap pacing, segments, tenants, the background.

use std::{thread, time::Duration};

use serde_json::Value;

use crate::{
    air::{AIR, Air, WHOLE, assert_shares, mac, of, sent_in, table, weigh},
    flow::send_by_tcp,
    machine::DEFAULT,
    recorder::{PAUSE, Recorder},
    shell::run,
    takt::{apply, link, takt},
};

#[test]
fn gap_frames_stand_where_nobody_may_send() {
    DEFAULT.run(|| {
        let policy = AIR
            .replace("rate = \"1mbit\"", "rate = \"1mbit\"\npacing = \"gap\"")
            .replace("queue_packets", "ceil = \"0.2mbit\"\nqueue_packets");
        let air = Air::new(&policy);
        let recorder = Recorder::new(&air.wire);
        let mut stations = table();
        weigh(&mut stations, &[WHOLE, 0, WHOLE]);
        for n in 1..=2 {
            air.send(n, 9, 50);
        }
        thread::sleep(Duration::from_secs(1));
        stations.refresh();
        assert_eq!(of(&stations, 2).queued_packets, 50);
        // One in five frames' times, exact to the byte; the third finds a gap of its own.
        air.send(3, 9, 20);
        thread::sleep(Duration::from_secs(2));
        let frames = recorder.frames();
        let mut position = 0;
        let mut starts = Vec::new();
        for frame in &frames {
            if frame.ethertype() == [0x08, 0x00] {
                starts.push((frame.start[5], position));
            }
            position += frame.bytes;
        }
        assert!(frames.iter().any(|frame| frame.ethertype() == PAUSE));
        for n in [1, 3] {
            let its: Vec<_> = starts.iter().filter(|(last, _)| *last == n).collect();
            assert!(its.len() >= 20, "{n}: {starts:?}");
            for pair in its.windows(2) {
                let apart = pair[1].1 - pair[0].1;
                assert!(
                    apart.abs_diff(5 * 1000) <= 1064,
                    "{n}: {apart} in {starts:?}"
                );
            }
        }
        // Throttled packets leave as soon as they may, though no other station sends any more.
        weigh(&mut stations, &[WHOLE; 3]);
        thread::sleep(Duration::from_secs(3));
        assert_eq!(of(&stations, 2).queued_packets, 0);
        let status = takt("status --output json").json();
        let gap = &status["links"][0]["gap"];
        assert_eq!(gap["fallbacks"], 0, "{gap}");
        assert!(
            gap["gap_frames"].as_u64().is_some_and(|frames| frames > 50),
            "{gap}"
        );
    });
}

#[test]
fn a_saturated_link_in_gap_mode_shares_by_weight() {
    DEFAULT.run(|| {
        let policy = AIR.replace("rate = \"1mbit\"", "rate = \"1mbit\"\npacing = \"gap\"");
        let air = Air::new(&policy);
        let mut stations = table();
        weigh(&mut stations, &[WHOLE, WHOLE / 2, WHOLE / 4]);
        for n in 1..=3 {
            air.send(n, 9, 190);
        }
        assert_shares(sent_in(&mut stations, 140, true), [4, 2, 1]);
    });
}

/// TCP to one station in segments of many frames, UDP to another in small ones: bytes decide.
#[test]
fn segments_count_by_their_bytes() {
    DEFAULT.run(|| {
        for packets in ["gso", "mtu"] {
            let policy = AIR
                .replace(
                    "rate = \"1mbit\"",
                    &format!("rate = \"10mbit\"\npackets = \"{packets}\""),
                )
                .replace("queue_packets = 200", "queue_packets = 4000");
            let air = Air::new(&policy);
            run("ethtool -K near1 tx on sg on tso on gso on").ok();
            let mut stations = table();
            let far = "02:00:00:00:01:02".parse().unwrap();
            stations.set_by_hand(far, WHOLE).unwrap();
            stations.set_by_hand(mac(1), WHOLE / 2).unwrap();
            air.send(1, 9, 2500);
            send_by_tcp("10.1.0.2:5000", 2_000_000);
            let list = stations.list();
            let its = list.iter().find(|station| station.address == far).unwrap();
            let (tcp, udp) = (&its.counters, of(&stations, 1).counters);
            assert_eq!(tcp.gso_packets > 0, packets == "gso", "{tcp:?}");
            let (tcp, udp) = (tcp.sent_bytes as f64, udp.sent_bytes as f64);
            // TCP needs some round trips until it always has packets queued.
            assert!((udp / tcp - 0.5).abs() < 0.05, "{packets}: {udp} and {tcp}");
        }
    });
}

#[test]
fn tenants_share_first_and_stations_within_them() {
    DEFAULT.run(|| {
        let policy = "[link.near1]\nrate = \"1mbit\"\n\
            [[link.near1.tenant]]\nname = \"house\"\nweight = 2\n\
            [[link.near1.tenant]]\nname = \"guests\"\nweight = 1\n\
            [[link.near1.class]]\nname = \"house\"\ntenant = \"house\"\nqueue_packets = 200\n\
            match = { dst_port = 9 }\n\
            [[link.near1.class]]\nname = \"guests\"\ntenant = \"guests\"\nqueue_packets = 200\n\
            match = { dst_port = 10 }\n\
            [radio]\n";
        let air = Air::new(policy);
        let mut stations = table();
        weigh(&mut stations, &[WHOLE, WHOLE / 2, WHOLE / 4]);
        // Of the house 1 and 2, two thirds and one of two thirds; of the guests 3 alone.
        air.send(1, 9, 150);
        air.send(2, 9, 150);
        air.send(3, 10, 150);
        assert_shares(sent_in(&mut stations, 120, true), [4, 2, 3]);
        // No station of the house has reception: the guests get everything.
        weigh(&mut stations, &[0, 0, WHOLE / 4]);
        let sent = sent_in(&mut stations, 40, true);
        assert!(sent[0] + sent[1] <= 1 && sent[2] >= 38, "{sent:?}");
        // Nothing is made up for.
        weigh(&mut stations, &[WHOLE, WHOLE / 2, WHOLE / 4]);
        assert_shares(sent_in(&mut stations, 60, true), [4, 2, 3]);
        thread::sleep(Duration::from_secs(4));
        let end = link("near1");
        assert!(end.classes.iter().all(|class| class.adds_up()), "{end:#?}");
        air.assert_arrived(450);
    });
}

#[test]
fn the_background_waits_for_all_stations_and_shares_by_weight() {
    DEFAULT.run(|| {
        let policy = AIR.replace(
            "[radio]",
            "[[link.near1.class]]\nname = \"bulk\"\npriority = \"background\"\n\
             queue_packets = 200\nmatch = { dst_port = 10 }\n[radio]",
        );
        let air = Air::new(&policy);
        let mut stations = table();
        weigh(&mut stations, &[WHOLE, WHOLE / 2, WHOLE / 4]);
        for n in 1..=3 {
            air.send(n, 10, 100);
        }
        assert_shares(sent_in(&mut stations, 70, true), [4, 2, 1]);
        // The station with the worst reception still goes before the background.
        air.send(3, 9, 50);
        let sent = sent_in(&mut stations, 40, true);
        assert!(sent[0] + sent[1] <= 1 && sent[2] >= 38, "{sent:?}");
        // Throttled by its weight it waits beyond the gate, and the rest goes on.
        weigh(&mut stations, &[0, WHOLE, WHOLE]);
        thread::sleep(Duration::from_secs(3));
        let held = of(&stations, 1);
        assert!(held.held && held.queued_packets >= 50, "{held:#?}");
        assert_eq!(of(&stations, 2).queued_packets, 0);
        let shown = takt("status --output json").json();
        let background = &shown["links"][0]["background"];
        assert_ne!(background, &Value::Null, "{shown}");
        weigh(&mut stations, &[WHOLE; 3]);
        thread::sleep(Duration::from_secs(2));
        let end = link("near1");
        assert_eq!(end.queued_packets, 0, "{end:#?}");
        assert!(end.classes.iter().all(|class| class.adds_up()), "{end:#?}");
        air.assert_arrived(350);
        // Without [radio] all is as without stations.
        apply(policy.strip_suffix("[radio]\n").unwrap()).ok();
        air.send(1, 10, 5);
        thread::sleep(Duration::from_secs(1));
        air.assert_arrived(355);
    });
}

//! A terminal of a crowd together with other parts: paced classes, the background, stations'
//! weights and threads on the beat (docs/interactions.md).

use std::{
    net::TcpListener,
    sync::{Arc, atomic::AtomicBool},
};

use serde_json::Value;

use crate::{
    air::table,
    flow::{in_far_namespace, in_namespace},
    gateway::flood,
    machine::DEFAULT,
    metronome::{MS, Shell, assert_stands, member, sleep_ms, spin},
    over::Over,
    reporting::STATION,
    takt::apply,
    terminals::{
        SERVER, Terminals, Upload, assert_soon, heard, in_netns, mac, name, neighbourhood,
    },
    upload,
    wire::Wire,
};

/// The shared rate of uploads on their way to the server.
const ALL_BYTES_PS: u64 = 2_500_000;

fn users(of: &Value) -> u64 {
    of["share"]["users"].as_u64().unwrap_or(0)
}

/// The first terminal's way to the air, with the server's port 5201 in a class of its own.
fn link(rate: &str, class: &str) -> String {
    format!("[link.air]\nrate = \"{rate}\"\n[[link.air.class]]\nname = \"upload\"\n{class}\n")
}

const UPLOAD: &str = "match = { proto = \"tcp\", dst_port = 5201 }";

/// Its packets wait on its own host, where TCP allows no more than a few segments: together with
/// those in flight at this rate, far fewer than the ten of an initial window.
#[test]
fn a_flow_that_its_class_paces_lends() {
    DEFAULT.run(|| {
        for packets in ["auto", "mtu"] {
            let (limited, all) = lends_where_its_class_paces(packets);
            assert!(
                all >= 10 && limited * 10 <= all,
                "{packets}: {limited} of {all}"
            );
        }
    });
}

/// Returns in how many periods the flow's window limited it after its start, and how many there were.
fn lends_where_its_class_paces(packets: &str) -> (u64, u64) {
    let _terminals = Terminals::new();
    let paced = link("95mbit", &format!("rate = \"2mbit\"\n{UPLOAD}"));
    let paced = paced.replacen("]\n", &format!("]\npackets = \"{packets}\"\n"), 1);
    let _one = Terminals::join_as(1, &paced);
    let two = Terminals::join_as(2, "");
    let _first = Upload::start(1, None);
    let _second = Upload::start(2, None);
    assert_soon(100, &two, 2, "the rest is for the second", |of| {
        let share = of["share"]["share_bytes_ps"].as_u64().unwrap_or(0);
        of["neighbours"][0]["lends"] == true
            && users(of) == 1
            && share > (ALL_BYTES_PS - 500_000) * 3 / 4
    });
    let periods = |which: &str| {
        let status = in_netns("t1", "takt status --output json").json();
        status["crowd"]["bounds"]["usage"][which].as_u64().unwrap()
    };
    let of_both = || (periods("limited_periods"), periods("flow_periods"));
    let begin = of_both();
    sleep_ms(6000);
    let end = of_both();
    (end.0 - begin.0, end.1 - begin.1)
}

/// The air is beyond its link: a terminal's background is one flow among others there.
#[test]
fn the_background_has_a_part_of_the_air() {
    DEFAULT.run(|| {
        let _terminals = Terminals::new();
        let background = link("95mbit", &format!("priority = \"background\"\n{UPLOAD}"));
        let _one = Terminals::join_as(1, &background);
        let two = Terminals::join_as(2, "");
        let _first = Upload::start(1, None);
        let _second = Upload::start(2, None);
        assert_soon(100, &two, 2, "as much as the other", |of| {
            let rate = of["neighbours"][0]["rate_bytes_ps"].as_u64().unwrap_or(0);
            users(of) == 2 && (ALL_BYTES_PS * 3 / 8..=ALL_BYTES_PS * 5 / 8).contains(&rate)
        });
    });
}

/// The same where its link is the bottleneck, and other traffic fills it.
#[test]
fn the_background_that_waits_counts_for_nobody() {
    DEFAULT.run(|| {
        let _terminals = Terminals::new();
        let background = link("5mbit", &format!("priority = \"background\"\n{UPLOAD}"));
        let _one = Terminals::join_as(1, &background);
        let two = Terminals::join_as(2, "");
        let _first = Upload::start(1, None);
        assert_soon(60, &two, 2, "it lends", |of| {
            of["neighbours"][0]["lends"] == true
        });
        let done = Arc::new(AtomicBool::new(false));
        let over = Over(&done);
        let load = in_namespace("t1", || flood(format!("{SERVER}:9"), 10, &done));
        assert_soon(40, &two, 2, "it left", |of| heard(of).is_empty());
        drop(over);
        load.join().unwrap();
        assert_soon(100, &two, 2, "it is back", |of| heard(of) == [mac(1)]);
    });
}

/// Reports are packets like others: behind a long queue they come too late. As a flow that sends
/// little, or in a class that goes first, they do not wait behind it.
#[test]
fn reports_wait_like_other_packets() {
    DEFAULT.run(|| {
        let _terminals = Terminals::new();
        let slow = link("1mbit", UPLOAD);
        let together = "[[link.air.class]]\nname = \"default\"\naqm = \"off\"\n";
        let first = "[[link.air.class]]\nname = \"reports\"\npriority = 0\n\
                     match = { proto = \"udp\", dst_port = 7642 }\n";
        let two = Terminals::join_as(2, "");
        let _first = Upload::start(1, None);
        let policies = [
            (format!("{slow}{together}"), false),
            (slow.clone(), true),
            (format!("{slow}{first}{together}"), true),
        ];
        for (policy, is_always_heard) in policies {
            let one = Terminals::join_as(1, &policy);
            assert_soon(60, &two, 2, "the first", |of| heard(of) == [mac(1)]);
            let done = Arc::new(AtomicBool::new(false));
            let over = Over(&done);
            let load = in_namespace("t1", || flood(format!("{SERVER}:9"), 10, &done));
            let is_heard = |_| {
                sleep_ms(100);
                heard(&neighbourhood(&two, "t2")) == [mac(1)]
            };
            assert_eq!((0..20).all(is_heard), is_always_heard);
            drop(over);
            load.join().unwrap();
            in_netns("t1", "takt revert").ok();
            one.end();
        }
    });
}

/// A fifth of the processor belongs to a beat that never yields, then two thirds, and another
/// thread wants the rest. All terminals here share a processor, so all round trips wait for slots.
#[test]
fn a_terminal_is_heard_beside_beats() {
    DEFAULT.run(|| {
        let _terminals = Terminals::new();
        let two = Terminals::join_as(2, "");
        let _first = Upload::start(1, None);
        let _second = Upload::start(2, None);
        for (period_ms, budget_ms) in [(20, 4), (30, 20)] {
            let one = Terminals::join_as(
                1,
                &format!(
                    "[[task]]\nname = \"hog\"\nperiod = \"{period_ms}ms\"\nbudget = \"{budget_ms}ms\"\n"
                ),
            );
            let sides = [(1, &one, 2), (2, &two, 1)];
            for (n, daemon, other) in sides {
                assert_soon(60, daemon, n, "the other", |of| heard(of) == [mac(other)]);
            }
            let busy = Shell::busy("busy");
            let hog = member("hog", 4000 / period_ms, move |_| spin((budget_ms + 1) * MS));
            let mut rate = Value::Null;
            while !hog.is_finished() {
                sleep_ms(100);
                for (n, daemon, other) in sides {
                    let of = neighbourhood(daemon, &name(n));
                    assert_eq!(heard(&of), [mac(other)], "{of}");
                    rate = of["share"]["rate_bytes_ps"].clone();
                }
            }
            println!("beside {budget_ms} of {period_ms} ms: {rate} bytes/s");
            drop(busy);
            hog.join().unwrap();
            assert_stands();
            one.end();
        }
    });
}

/// Acknowledgements count as packets for the station, too.
#[test]
fn a_held_station_does_not_upload() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply("[link.near1]\nrate = \"100mbit\"\n[radio]\n").ok();
        let listener = TcpListener::bind(format!("{}:0", wire.near_v4())).unwrap();
        let upload = in_far_namespace(|| upload::Upload::start(&listener, None).unwrap());
        upload.assert_goes_on();
        let mut stations = table();
        let station = STATION.parse().unwrap();
        stations.set_by_hand(station, 0).unwrap();
        sleep_ms(1000);
        let held = upload.received_bytes();
        sleep_ms(2000);
        assert_eq!(upload.received_bytes(), held);
        stations.set_by_hand(station, 1_000_000).unwrap();
        upload.assert_goes_on();
    });
}

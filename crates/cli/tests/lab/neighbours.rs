//! Terminals that share a bottleneck report their throughput to each other, directly or through an
//! aggregator, and learn the true values.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread, time::Duration};

use serde_json::Value;

use crate::{
    machine::DEFAULT,
    reporting::Daemon,
    shell::run,
    terminals::{
        AGGREGATOR, Terminals, Upload, address, assert_soon, heard, in_netns, mac, name, plug,
    },
};

/// The throughput of all on the bridge's 20 Mbit/s, and of one, are close to these.
const ALL_BYTES_PS: u64 = 2_500_000;

const KEPT: &str = "/var/lib/takt";

fn users(of: &Value) -> u64 {
    of["share"]["users"].as_u64().unwrap_or(0)
}

fn share_bytes_ps(of: &Value) -> u64 {
    of["share"]["share_bytes_ps"].as_u64().unwrap_or(0)
}

#[test]
fn come_and_go_and_are_known() {
    DEFAULT.run(|| {
        let _terminals = Terminals::new();
        let one = Terminals::join_as(1, "");
        let two = Terminals::join_as(2, "");
        let three = Terminals::join_as(3, "");
        let _first = Upload::start(1, None);
        let second = Upload::start(2, None);
        assert_soon(60, &one, 1, "the second", |of| heard(of) == [mac(2)]);
        assert_soon(60, &two, 2, "the first", |of| heard(of) == [mac(1)]);
        // An idle terminal is not listed, and lists the others.
        assert_soon(60, &three, 3, "both", |of| heard(of) == [mac(1), mac(2)]);
        assert_soon(60, &one, 1, "an equal share", |of| {
            let share = share_bytes_ps(of);
            let listed = &of["neighbours"][0]["address"];
            users(of) == 2
                && *listed == address(2).as_str()
                && (ALL_BYTES_PS * 3 / 8..=ALL_BYTES_PS * 5 / 8).contains(&share)
        });
        in_netns(&name(1), "takt status").says(&["crowd"]).ok();

        // An application that wants little lends.
        let third = Upload::start(3, Some("1M"));
        assert_soon(60, &one, 1, "a lender", |of| {
            let third = &of["neighbours"][1];
            users(of) == 2 && third["name"] == mac(3).as_str() && third["lends"] == true
        });
        drop(third);
        assert_soon(60, &one, 1, "it left", |of| heard(of) == [mac(2)]);

        // A killed taktd is silent: 3 intervals of at most 240 ms.
        two.kill();
        assert_soon(15, &one, 1, "it is gone", |of| heard(of).is_empty());
        assert_soon(10, &one, 1, "alone", |of| users(of) == 1);
        let two = Daemon::start_alone(&name(2));
        assert_soon(60, &one, 1, "it is back", |of| heard(of) == [mac(2)]);

        // A taktd that ends says so; so does one whose upload ends.
        two.end();
        assert_soon(5, &one, 1, "it left", |of| heard(of).is_empty());
        drop(second);

        // A device that goes and comes back.
        run("ip -n hub link del t3-air").ok();
        plug(&name(3), "air", &address(3), &mac(3));
        assert_soon(60, &three, 3, "back on the air", |of| heard(of) == [mac(1)]);
    });
}

#[test]
fn their_capacity_is_remembered_by_a_new_taktd() {
    DEFAULT.run(|| {
        let _ = fs::remove_dir_all(KEPT);
        fs::create_dir_all("/var/lib").unwrap();
        let _terminals = Terminals::new();
        let one = Terminals::join_as(1, "");
        let _upload = Upload::start(1, None);
        let remembered = |of: &Value| of["share"]["remembered_bytes_ps"].as_u64();
        let file = format!("{KEPT}/capacities.json");
        let is_kept = || Path::new(&file).exists();
        for _ in 0..400 {
            if is_kept() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        assert!(is_kept(), "the capacity was not learned");
        let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(KEPT), mode(&file)), (0o700, 0o600));

        one.kill();
        let one = Daemon::start_alone(&name(1));
        assert_soon(50, &one, 1, "it remembers", |of| {
            remembered(of).is_some_and(|part| (ALL_BYTES_PS / 2..ALL_BYTES_PS).contains(&part))
        });
        assert_soon(400, &one, 1, "it has learned it anew", |of| {
            of["share"].is_object() && remembered(of).is_none()
        });
        one.end();
        in_netns(&name(1), "takt revert").ok();
        assert!(is_kept(), "revert leaves it");
        fs::remove_dir_all(KEPT).unwrap();
    });
}

#[test]
fn are_told_of_by_an_aggregator() {
    DEFAULT.run(|| {
        let _terminals = Terminals::new();
        run("ip netns add t50").ok();
        plug("t50", "wire", AGGREGATOR, "02:00:00:00:09:32");
        let aggregator = Terminals::join("t50", "wire", "aggregate = true");
        let by = format!("aggregator = \"{AGGREGATOR}:7642\"");
        let one = Terminals::join_as(1, &by);
        let two = Terminals::join_as(2, &by);
        let _first = Upload::start(1, None);
        let _second = Upload::start(2, None);
        assert_soon(60, &one, 1, "the second", |of| {
            heard(of) == [mac(2)] && users(of) == 2
        });
        assert_soon(60, &two, 2, "the first", |of| heard(of) == [mac(1)]);
        assert_soon(60, &aggregator, 50, "both", |of| {
            heard(of) == [mac(1), mac(2)]
        });
        // The aggregator falls silent, and each terminal is alone.
        aggregator.kill();
        assert_soon(20, &one, 1, "nobody", |of| {
            heard(of).is_empty() && users(of) == 1
        });
        let _again = Daemon::start_alone("t50");
        assert_soon(60, &one, 1, "the second again", |of| heard(of) == [mac(2)]);
        in_netns("t50", "takt revert").ok();
        run("ip netns del t50").ok();
    });
}

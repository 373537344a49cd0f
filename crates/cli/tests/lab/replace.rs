//! Replacing a policy under traffic: queued packets stay queued.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::{
    flow::Flow,
    machine::DEFAULT,
    takt::{apply, apply_with, link},
    wire::Wire,
};

const OLD: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "stays"
rate = "1mbit"
match = { proto = "udp", dst_port = 5001 }

[[link.near1.class]]
name = "changes"
rate = "1mbit"
match = { proto = "udp", dst_port = 5002 }

[[link.near1.class]]
name = "leaves"
rate = "1mbit"
match = { proto = "udp", dst_port = 5003 }
"#;

/// Other order, rates, priority and limit; one class is removed and one is new.
const NEW: &str = r#"
[link.near1]
rate = "50mbit"

[[link.near1.class]]
name = "comes"
rate = "1mbit"
match = { proto = "udp", dst_port = 5004 }

[[link.near1.class]]
name = "changes"
rate = "2mbit"
priority = "background"
receive = false
gate = "open"
queue_packets = 10
match = { proto = "udp", dst_port = 5002 }

[[link.near1.class]]
name = "stays"
rate = "1mbit"
match = { proto = "udp", dst_port = 5001 }
"#;

const PACKETS: u32 = 300;
const BYTES: usize = 200;

#[test]
fn no_queued_packet_is_lost() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(OLD).ok();
        let mut flows = [5001, 5002, 5003, 5004].map(|port| Flow::new(&wire, port));
        let [stays, changes, leaves, comes] = &mut flows;
        for flow in [&mut *stays, changes, leaves] {
            flow.send(PACKETS, BYTES);
        }
        let before = link("near1");

        apply(NEW).says(&["near1: updated"]).ok();
        let after = link("near1");
        assert!(after.queued_packets > u64::from(PACKETS), "{after:#?}");
        assert_eq!(after.generation, before.generation + 1);
        assert_eq!(after.rate_bps, 50_000_000);
        assert_eq!(after.class("changes").rate_bps, 2_000_000);
        let names = ["changes", "comes", "default", "stays"];
        assert_eq!(after.class_names(), names);

        // The queue is longer than the new limit: its packets stay, and further ones are dropped.
        changes.send(1, BYTES);
        assert_eq!(link("near1").class("changes").dropped_packets, 1);
        stays.send(PACKETS, BYTES);
        comes.send(PACKETS, BYTES);
        assert_eq!(stays.arrivals(), numbers(2 * PACKETS));
        assert_eq!(changes.arrivals(), numbers(PACKETS));
        assert_eq!(leaves.arrivals(), numbers(PACKETS));
        assert_eq!(comes.arrivals(), numbers(PACKETS));

        let end = link("near1");
        assert_eq!(end.queued_packets, 0);
        assert_eq!(end.sum(|class| class.dropped_packets), 1);
        assert_eq!(end.sum(|class| class.flushed_packets), 0);
        assert!(end.classes.iter().all(|class| class.adds_up()));
    });
}

#[test]
fn traffic_does_not_notice_twenty_replacements() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(OLD).ok();
        let mut flow = Flow::new(&wire, 5001);
        let done = AtomicBool::new(false);
        let sent = thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let mut packets = 0;
                while !done.load(Ordering::Relaxed) {
                    flow.send(1, BYTES);
                    packets += 1;
                    // A little slower than the class.
                    thread::sleep(Duration::from_millis(2));
                }
                packets
            });
            for policy in [NEW, OLD].iter().cycle().take(20) {
                apply(policy).says(&["near1: updated"]).ok();
            }
            done.store(true, Ordering::Relaxed);
            sending.join().unwrap()
        });
        assert_eq!(flow.arrivals(), numbers(sent));
        let end = link("near1");
        assert_eq!(end.class("stays").enqueued_packets, u64::from(sent));
        assert_eq!(end.class("stays").dropped_packets, 0);
    });
}

#[test]
fn the_same_policy_again_changes_nothing() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply(OLD).ok();
        let before = link("near1");
        apply(OLD).says(&["near1: unchanged"]).ok();
        let after = link("near1");
        assert_eq!(after.generation, before.generation);
    });
}

#[test]
fn a_dry_run_changes_nothing() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let would_attach = apply_with("--dry-run", OLD);
        let all_is_new = "+ near1: takt at 100mbit, 4 classes\n";
        would_attach
            .says(&["near1: would be attached", all_is_new])
            .ok();
        assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
        crate::takt::assert_no_trace();

        apply(OLD).ok();
        let would_update = apply_with("--dry-run", NEW);
        would_update
            .says(&[
                "near1: would be updated",
                "~ near1: rate 100mbit -> 50mbit, order of classes stays changes default -> changes \
                 stays default\n+ near1 class comes: rate 1mbit, priority 3\n",
                "rate 1mbit -> 2mbit",
                "- near1 class leaves: rate 1mbit, priority 3\n",
            ])
            .ok();
        let same = apply_with("--dry-run --output json", OLD).ends_with(0).json();
        assert_eq!(same["difference"], serde_json::json!([]));
        let after = link("near1");
        assert_eq!(
            after.class_names(),
            ["changes", "default", "leaves", "stays"]
        );
    });
}

#[test]
fn a_class_that_comes_back_inherits_nothing() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(OLD).ok();
        Flow::new(&wire, 5003).send(1, BYTES);
        assert_eq!(link("near1").class("leaves").sent_packets, 1);
        apply(NEW).ok();
        apply(OLD).ok();
        assert_eq!(link("near1").class("leaves").sent_packets, 0);
    });
}

fn numbers(packets: u32) -> Vec<u32> {
    (0..packets).collect()
}

//! taktd keeps the policy in force on its devices: those that come back, and those whose qdisc another
//! program replaced.

use std::{thread, time::Duration};

use nix::sys::signal::Signal;

use crate::{
    daemon::Daemon,
    helper::{assert_helpers, assert_no_helper},
    inventory::Inventory,
    machine::{DEFAULT, NEWEST, on_old_kernels},
    shell::run,
    takt::{Link, apply, apply_with, assert_no_trace, link, status, takt},
    wire::Wire,
};

/// One link needs a helper, and the other does not.
const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "slow"
rate = "1mbit"
match = { proto = "udp", dst_port = 5001 }

[link.near2]
rate = "50mbit"

[[link.near2.class]]
name = "backup"
priority = "background"
match = { proto = "udp", dst_port = 5002 }
"#;

fn restoring() -> String {
    POLICY.replace(
        "rate = \"100mbit\"",
        "rate = \"100mbit\"\non_conflict = \"restore\"",
    )
}

/// A second is the bar; the laboratory's processor is slow.
const SOON: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(50);

/// Waits until the link is so.
#[track_caller]
fn soon(device: &str, is_so: impl Fn(&Link) -> bool) -> Link {
    for _ in 0..SOON.as_millis() / STEP.as_millis() {
        let links = status().0.into_iter();
        if let Some(found) = { links }.find(|link| link.device == device && is_so(link)) {
            return found;
        }
        thread::sleep(STEP);
    }
    panic!("not soon: {:#?}", status().0);
}

#[track_caller]
pub fn served(device: &str) {
    let link = soon(device, |link| link.attached);
    assert_eq!(link.problem, None);
}

fn go_and_return(wire: &Wire) {
    run(&format!("ip link del {}", wire.near)).ok();
    soon(&wire.near, |link| {
        let problem = link.problem.as_deref();
        problem.is_some_and(|problem| problem.contains("the device is gone"))
    });
    wire.make();
}

#[test]
fn a_device_that_comes_back_is_served_again() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| {
            let wires = [1, 2].map(Wire::new);
            let daemon = Daemon::start();
            apply(POLICY).ok();
            assert_helpers(1);
            for _ in 0..2 {
                for wire in &wires {
                    go_and_return(wire);
                    served(&wire.near);
                    wire.assert_passes();
                }
            }
            // As one that was never away.
            assert_eq!(status().0.len(), 2);
            assert!(link("near1").class_names().contains(&"slow"));
            assert!(link("near2").background().opener_running);
            apply(POLICY)
                .says(&["near1: unchanged", "near2: unchanged"])
                .ok();
            takt("revert").ok();
            assert_no_helper();
            assert_no_trace();
            daemon.ends_with(Signal::SIGTERM);
        });
    }
}

/// A tun device has no Ethernet header, by which packets of the background come back.
#[test]
fn of_a_device_that_cannot_be_served_status_says_why() {
    DEFAULT.run(|| {
        let wires = [1, 2].map(Wire::new);
        let daemon = Daemon::start();
        apply(POLICY).ok();
        run("ip link del near2").ok();
        run("ip tuntap add near2 mode tun").ok();
        let told = |device: &str, part: &str| {
            soon(device, |link| {
                let problem = link.problem.as_deref();
                problem.is_some_and(|problem| problem.contains(part))
            })
        };
        told(
            "near2",
            "back and not served: its packets have no Ethernet header",
        );
        run("ip tuntap del near2 mode tun").ok();
        told("near2", "the device is gone");
        wires[1].make();
        served("near2");

        daemon.ends_with(Signal::SIGKILL);
        run("ip link del near1").ok();
        wires[0].make();
        run("tc qdisc replace dev near1 root handle 8123: fq").ok();
        told("near1", "it carries another program's qdisc, fq 8123:");
        run("tc qdisc del dev near1 root").ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn while_taktd_is_away_as_well() {
    DEFAULT.run(|| {
        let wires = [1, 2].map(Wire::new);
        apply(POLICY).ok();
        Daemon::start().ends_with(Signal::SIGKILL);
        for wire in &wires {
            go_and_return(wire);
        }
        let daemon = Daemon::start();
        for wire in &wires {
            served(&wire.near);
        }
        // To another network namespace and back, under the same number.
        run("ip link set near1 netns b").ok();
        soon("near1", |link| !link.attached);
        run("ip -n b link set near1 netns a").ok();
        served("near1");
        daemon.ends_with(Signal::SIGTERM);
        takt("revert").ok();
        assert_no_trace();
    });
}

/// One link by departure times, and one as a tree.
const STOCK: &str = r#"
[link.near1]
rate = "100mbit"
backend = "departure"
on_conflict = "restore"

[[link.near1.class]]
name = "slow"
rate = "1mbit"
match = { proto = "udp", dst_port = 5001 }

[[link.near1.class]]
name = "default"
rate = "50mbit"

[link.near2]
rate = "50mbit"
backend = "tree"

[[link.near2.class]]
name = "slow"
rate = "1mbit"
ceil = "10mbit"
match = { proto = "udp", dst_port = 5002 }
"#;

#[test]
fn on_the_kernels_own_qdiscs_as_well() {
    on_old_kernels(|| {
        let wires = [1, 2].map(Wire::new);
        let daemon = Daemon::start();
        apply(STOCK).ok();
        for _ in 0..2 {
            for wire in &wires {
                go_and_return(wire);
                served(&wire.near);
                wire.assert_passes();
            }
        }
        assert_eq!(status().0.len(), 2);
        apply(STOCK)
            .says(&["near1: unchanged", "near2: unchanged"])
            .ok();

        // To another network namespace and back, under the same number.
        run("ip link set near1 netns b").ok();
        soon("near1", |link| !link.attached);
        run("ip -n b link set near1 netns a").ok();
        served("near1");

        // One is restored, and the other is reported.
        for device in ["near1", "near2"] {
            run(&format!(
                "tc qdisc replace dev {device} root handle 8123: fq"
            ))
            .ok();
        }
        let lost = soon("near2", |link| link.conflict.is_some());
        assert_eq!(lost.conflict.unwrap().found, "fq 8123:");
        served("near1");
        assert!(!link("near2").attached);
        daemon.ends_with(Signal::SIGTERM);
        takt("revert").ends_with(4);
        assert_no_trace();
    });
}

#[test]
fn another_programs_qdisc_is_reported() {
    DEFAULT.run(|| {
        let wires = [1, 2].map(Wire::new);
        let daemon = Daemon::start();
        apply(POLICY).ok();
        run("tc qdisc replace dev near1 root handle 8123: fq").ok();
        let lost = soon("near1", |link| {
            let conflict = link.conflict.as_ref();
            conflict.is_some_and(|conflict| conflict.by.is_some())
        });
        let conflict = lost.conflict.unwrap();
        assert_eq!(conflict.found, "fq 8123:");
        assert!(conflict.age_s.unwrap() < 5);
        let problem = lost.problem.unwrap();
        assert!(problem.contains("fq 8123:, not takt (since "), "{problem}");
        thread::sleep(Duration::from_secs(2));
        assert!(wires[0].root_qdisc().starts_with("qdisc fq"));

        apply_with("--replace", POLICY)
            .says(&["near1: attached"])
            .ok();
        assert_eq!(soon("near1", |link| link.attached).conflict, None);
        run("tc qdisc del dev near1 root").ok();
        soon("near1", |link| {
            let conflict = link.conflict.as_ref();
            conflict.is_some_and(|conflict| {
                conflict.found == "the kernel's default" && conflict.age_s.is_some()
            })
        });
        // A device that comes back with a qdisc is another program's, too.
        run("ip link del near2").ok();
        soon("near2", |link| !link.attached);
        wires[1].make();
        run("tc qdisc replace dev near2 root handle 8124: fq").ok();
        thread::sleep(Duration::from_secs(2));
        takt("revert").ends_with(4);
        daemon.ends_with(Signal::SIGTERM);
        assert_no_trace();
    });
}

#[test]
fn it_is_put_right_if_the_policy_says_so_unless_the_program_insists() {
    DEFAULT.run(|| {
        let before = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        let daemon = Daemon::start();
        apply(&restoring()).ok();
        for _ in 0..5 {
            run("tc qdisc replace dev near1 root handle 8123: fq").ok();
            served("near1");
            wires[0].assert_passes();
        }
        run("tc qdisc replace dev near1 root handle 8123: fq").ok();
        soon("near1", |link| {
            let conflict = link.conflict.as_ref();
            conflict.is_some_and(|conflict| conflict.age_s.is_some())
        });
        thread::sleep(Duration::from_secs(2));
        assert!(wires[0].root_qdisc().starts_with("qdisc fq"));
        takt("revert").ends_with(4);
        daemon.ends_with(Signal::SIGTERM);
        drop(wires);
        before.assert_is_back();
    });
}

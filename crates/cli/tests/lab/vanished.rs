//! A network namespace that is deleted with a policy in force: its helper cleans up, or else the
//! next takt that is called, anywhere on the host.

use std::fs;

use crate::{
    daemon::Daemon,
    everything::EVERYTHING,
    gap,
    helper::helpers,
    inventory::Inventory,
    kernel_bpf::wait_for,
    machine::DEFAULT,
    metronome::{assert_stands, state},
    shell::run,
    takt::{POLICY, apply, assert_no_trace, takt},
    terminals::in_netns,
    wire::Wire,
};

const CROWD: &str = r#"
[crowd]
group = "lab"
key_file = "/lab/crowd.key"
device = "near1"
"#;

/// A namespace with two devices, a policy in force, and a taktd until it is killed.
fn vanish_with(policy: &str) {
    run("ip netns add gone").ok();
    for n in [1, 2] {
        run(&format!(
            "ip -n gone link add near{n} type veth peer name gone{n} netns a"
        ))
        .ok();
        run(&format!("ip -n gone link set near{n} up")).ok();
    }
    run("takt crowd key /lab/crowd.key");
    fs::write(POLICY, policy).unwrap();
    in_netns("gone", &format!("takt apply {POLICY}")).ok();
    let daemon = Daemon::start_alone("gone");
    wait_for(|| fs::exists(daemon.socket()).unwrap());
    run("ip netns del gone").ok();
    // A process in the namespace keeps it; no process that takt has started does.
    daemon.kill();
    wait_for(|| run("ip link show gone2").status != Some(0));
    assert_eq!(helpers(), []);
}

/// Without a helper, which would notice that the namespace is gone.
fn without_gate() -> String {
    let background = "priority = \"background\"\n";
    let open = format!("{background}gate = \"open\"\n");
    format!("{}{CROWD}", EVERYTHING.replace(background, &open))
}

#[test]
fn its_helper_goes_last_and_leaves_nothing() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        vanish_with(&format!("{EVERYTHING}{CROWD}"));
        before.assert_is_back();
    });
}

/// As a queued packet would, a frame in stock keeps its sender's namespace.
#[test]
fn its_stock_of_gap_frames_goes_as_well() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        vanish_with(gap::POLICY);
        before.assert_is_back();
    });
}

#[test]
fn revert_anywhere_clears_it_away() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        vanish_with(&without_gate());
        // The kernel gives its number to the next.
        run("ip netns add next").ok();
        takt("status").says(&["beat"]).ok();
        takt("revert").says(&["the scheduler is unloaded"]).ok();
        assert_no_trace();
        run("ip netns del next").ok();
        before.assert_is_back();
        takt("revert").says(&["nothing to revert"]).ok();
    });
}

#[test]
fn apply_anywhere_takes_its_place() {
    DEFAULT.alone().run(|| {
        let before = Inventory::take();
        let wires = [1, 2].map(Wire::new);
        vanish_with(&without_gate());
        assert_stands();
        apply(EVERYTHING).says(&["near1: attached", "beats: "]).ok();
        assert_stands();
        assert_eq!(fs::read_dir("/run/takt/links").unwrap().count(), 2);
        assert!(!fs::exists("/run/takt/crowd").unwrap());
        takt("revert").ok();
        assert_eq!(state(), "disabled");
        drop(wires);
        before.assert_is_back();
    });
}

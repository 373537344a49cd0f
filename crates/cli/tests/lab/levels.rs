//! Softirq tiers: network processing is below the beats while there are any, and restored
//! afterwards.

use crate::{
    machine::{DEFAULT, NEWEST},
    shell::run,
    takt::{apply, assert_no_trace, takt},
};

const BEATS: &str = r#"
[beats]
batch = 8

[[task]]
name = "nobody"
period = "40ms"
budget = "1ms"
"#;

/// The host's first network namespace, that of the kernel threads' parent.
const FIRST: &str = "nsenter --net=/proc/2/ns/net";

#[test]
fn is_below_the_beats_while_there_are_any_on_the_default_kernel() {
    DEFAULT.alone().run(|| {
        is_below_the_beats();
        assert_no_trace();
    });
}

#[test]
fn is_below_the_beats_while_there_are_any_on_the_newest_kernel() {
    NEWEST.alone().run(|| {
        is_below_the_beats();
        assert_no_trace();
    });
}

fn is_below_the_beats() {
    // A veth has NAPI of its own while GRO is on.
    run("ethtool -K va gro on").ok();
    let before = batches();
    assert!(before.iter().all(|batch| *batch > 8), "{before:?}");
    assert!(!is_threaded("va"));
    apply(BEATS).ok();
    assert!(is_threaded("va") && !is_threaded("lo"));
    assert_eq!(batches(), [8, 8]);

    let changed = BEATS.replace("batch = 8", "batch = 16\nthreaded_napi = false");
    apply(&changed).ok();
    assert!(!is_threaded("va"));
    assert_eq!(batches(), [16, 16]);
    apply(BEATS).ok();

    // A takt that died before it wrote the settings leaves that to the next takt.
    set_batch("netdev_budget", before[1]);
    apply(BEATS).ok();
    assert_eq!(batches(), [8, 8]);

    // A scheduler that is removed with its pins leaves this to the next takt, too.
    run("rm -rf /sys/fs/bpf/takt-beats").ok();
    takt("revert").ok();
    assert!(!is_threaded("va"));
    assert_eq!(batches(), [before[0], before[1]]);

    // A setting that another program made stays, and a removed device needs nothing.
    run("ip link add near9 type veth peer name far9").ok();
    run("ethtool -K near9 gro on").ok();
    run("ip link set near9 up").ok();
    apply(BEATS).ok();
    assert!(is_threaded("near9"));
    run("ip link del near9").ok();
    set_batch("dev_weight", 33);
    takt("revert").ok();
    assert!(!is_threaded("va"));
    assert_eq!(batches(), [33, before[1]]);

    set_batch("dev_weight", before[0]);
    run("ethtool -K va gro off").ok();
}

/// `ip netns exec` shows the namespace's own devices in /sys.
fn is_threaded(device: &str) -> bool {
    let file = format!("/sys/class/net/{device}/threaded");
    run(&format!("ip netns exec a cat {file}")).ok().trim() == "1"
}

fn batches() -> [u64; 2] {
    ["dev_weight", "netdev_budget"].map(|name| {
        let shown = run(&format!("{FIRST} cat /proc/sys/net/core/{name}")).ok();
        shown.trim().parse().expect("a number")
    })
}

fn set_batch(name: &str, batch: u64) {
    run(&format!("{FIRST} sysctl -w net.core.{name}={batch}")).ok();
}

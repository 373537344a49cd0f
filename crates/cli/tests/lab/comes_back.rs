//! Qdiscs of all kinds that this kernel has: what `--replace` takes comes back as it was, and all
//! else is refused and left alone. And devices whose qdisc the kernel refuses all the same.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    machine::DEFAULT,
    shell::{Ran, run, run_command},
    takt::{apply, apply_with, assert_no_trace, link, takt},
    wire::Wire,
};

const DEVICE: &str = "many0";

const POLICY: &str = "[link.many0]\nrate = \"100mbit\"\n";

/// Where `tc` finds the distribution of delays called `skewed`.
const TC_LIB_DIR: &str = "/lab";

/// What becomes of a qdisc.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Back,
    /// It is refused, and this is said.
    Stays(&'static str),
}
use Fate::{Back, Stays};

const UNLISTED: Fate = Stays("the kernel does not list");
const NOT_TAKEN: Fate = Stays("the kernel refuses its options as it lists them: Invalid argument");
const CLASSES: Fate = Stays("with classes below it");

/// What `tc` adds after a handle.
const QDISCS: [(&str, Fate); 57] = [
    ("bfifo limit 45678", Back),
    ("cake bandwidth 50mbit", Back),
    (
        "cake bandwidth 50mbit dual-srchost nat atm overhead 18 rtt 50ms ack-filter memlimit 1mb",
        Back,
    ),
    ("choke limit 1000 bandwidth 10mbit", UNLISTED),
    ("codel limit 100 target 5ms interval 100ms ecn", Back),
    ("drr", Back),
    ("etf clockid CLOCK_TAI delta 300000", Back),
    ("ets bands 4 strict 2 quanta 1000 2000", CLASSES),
    ("fq", Back),
    (
        "fq limit 5000 flow_limit 77 buckets 2048 quantum 3000 maxrate 100mbit ce_threshold 5ms",
        Back,
    ),
    ("fq_codel", Back),
    (
        "fq_codel limit 500 flows 256 target 10ms interval 200ms noecn ce_threshold 2ms",
        Back,
    ),
    ("fq_pie", Back),
    (
        "fq_pie limit 5000 flows 256 target 20ms memory_limit 1mb ecn",
        Back,
    ),
    ("gred setup DPs 4 default 1", UNLISTED),
    ("hfsc default 1", CLASSES),
    ("htb", NOT_TAKEN),
    ("htb default 10 r2q 5 direct_qlen 77", NOT_TAKEN),
    ("mq", Back),
    ("mqprio num_tc 2 map 0 1 queues 2@0 2@2 hw 0", CLASSES),
    ("multiq", Back),
    ("netem limit 500", Back),
    ("netem delay 10ms", Back),
    ("netem delay 10ms 2ms", UNLISTED),
    ("netem delay 10ms 2ms 25%", UNLISTED),
    ("netem delay 10ms 2ms distribution skewed", UNLISTED),
    ("netem loss 1% 25%", Back),
    ("netem loss gemodel 1% 10% 70% 0.1%", Back),
    ("netem loss state 1% 10% 70%", Back),
    (
        "netem delay 5000ms duplicate 1% corrupt 0.1% reorder 25% 50% gap 5",
        Back,
    ),
    ("netem rate 5mbit 20 100 5", Back),
    ("netem slot 1ms 2ms packets 32 bytes 9000", Back),
    ("netem slot distribution skewed 10ms 2ms", UNLISTED),
    ("noqueue", Back),
    ("pfifo limit 123", Back),
    ("pfifo_fast", Back),
    ("pfifo_head_drop limit 123", Back),
    ("pie limit 500 target 20ms ecn bytemode", Back),
    ("prio", Back),
    ("prio bands 5 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", Back),
    (
        "red limit 60kb min 10kb max 20kb avpkt 1000 bandwidth 10mbit",
        CLASSES,
    ),
    (
        "red limit 60kb avpkt 1000 bandwidth 10mbit ecn adaptive",
        CLASSES,
    ),
    (
        "red limit 60kb avpkt 1000 bandwidth 10mbit qevent early_drop block 10",
        CLASSES,
    ),
    ("sfb", Back),
    (
        "sfb limit 500 max 30 target 25 penalty_rate 20 penalty_burst 30",
        Back,
    ),
    // The kernel counts a flow fewer when it is told its own default.
    ("sfq", Stays("in a trial its options came back otherwise")),
    ("sfq perturb 10 limit 500 divisor 512 quantum 3000", Back),
    (
        "sfq limit 500 headdrop flows 64 redflowlimit 100000 min 8000 max 60000 ecn probability 0.1",
        Back,
    ),
    ("tbf rate 10mbit burst 5000 latency 50ms", Back),
    (
        "tbf rate 10mbit burst 50kb limit 3000 peakrate 20mbit mtu 2000",
        Back,
    ),
    (
        "tbf rate 10mbit burst 5000 latency 50ms overhead 10 linklayer atm",
        Back,
    ),
    (
        "stab overhead 20 tbf rate 10mbit burst 5000 latency 50ms",
        Back,
    ),
    (
        "stab linklayer atm overhead 10 tbf rate 10mbit burst 5000 latency 50ms",
        UNLISTED,
    ),
    ("stab overhead 20 cake bandwidth 50mbit", Back),
    (
        "stab linklayer atm overhead 10 cake bandwidth 50mbit",
        UNLISTED,
    ),
    ("stab mtu 2048 tsize 512 mpu 64 fq_codel", UNLISTED),
    (
        "estimator 250ms 1s fq",
        Stays("the estimator of its rate would be lost"),
    ),
];

/// Commands that give a qdisc, the first, more than itself.
const TREES: [(&[&str], Fate); 4] = [
    (
        &[
            "qdisc add dev many0 root handle 8123: htb default 10",
            "class add dev many0 parent 8123: classid 8123:10 htb rate 10mbit",
        ],
        CLASSES,
    ),
    (
        &[
            "qdisc add dev many0 root handle 8123: drr",
            "class add dev many0 parent 8123: classid 8123:10 drr quantum 1000",
        ],
        CLASSES,
    ),
    (
        &[
            "qdisc add dev many0 root handle 8123: tbf rate 10mbit burst 5000 latency 50ms",
            "qdisc add dev many0 parent 8123:1 handle 8124: pfifo limit 77",
        ],
        Stays("with further qdiscs below it"),
    ),
    (
        &[
            "qdisc add dev many0 root handle 8123: prio",
            "filter add dev many0 parent 8123: protocol ip matchall flowid 8123:1",
        ],
        Stays("with filters below it"),
    ),
];

#[test]
fn every_qdisc_comes_back_or_stays() {
    DEFAULT.run(|| {
        let _device = Many::new();
        for (qdisc, fate) in QDISCS {
            check(
                &[&format!("qdisc add dev many0 root handle 8123: {qdisc}")],
                fate,
            );
        }
        for (commands, fate) in TREES {
            check(commands, fate);
        }
    });
}

#[test]
fn blocks_of_filters_stay_on_the_device() {
    DEFAULT.run(|| {
        let _device = Many::new();
        run("tc qdisc add dev many0 ingress_block 7 egress_block 8 clsact").ok();
        check(&["qdisc add dev many0 root handle 8123: fq limit 77"], Back);
        check(&["qdisc add dev many0 root handle 8123: htb"], NOT_TAKEN);
        let listed = run("tc qdisc show dev many0").ok();
        assert!(
            listed.contains("ingress_block 7 egress_block 8"),
            "{listed}"
        );
    });
}

/// What these commands set up comes back, or is refused.
#[track_caller]
fn check(commands: &[&str], fate: Fate) {
    for command in commands {
        tc(command).ok();
    }
    let (theirs, devices) = (listed(), run("ip -o link").ok());
    let applied = apply_with("--replace --output json", POLICY);
    match fate {
        Back => {
            applied.ends_with(0);
            assert!(listed().starts_with("qdisc takt"), "{commands:?}");
            takt("revert").says(&["many0: given back"]).ok();
        }
        Stays(why) => {
            applied
                .says(&[
                    "many0 carries a",
                    "8123:",
                    why,
                    "tc qdisc del dev many0 root",
                ])
                .ends_with(4);
        }
    }
    assert_eq!(listed(), theirs, "{commands:?}");
    assert_eq!(run("ip -o link").ok(), devices, "{commands:?}");
    run("tc qdisc del dev many0 root").ok();
}

/// What is shown of the device's qdiscs and classes.
fn listed() -> String {
    let qdiscs = run("tc -d qdisc show dev many0").ok();
    qdiscs + &run("tc class show dev many0").ok()
}

fn tc(arguments: &str) -> Ran {
    let mut command = std::process::Command::new("tc");
    command.args(arguments.split_whitespace());
    run_command(command.env("TC_LIB_DIR", TC_LIB_DIR))
}

/// A device with four queues, without traffic.
struct Many;

impl Many {
    fn new() -> Self {
        let skewed: Vec<String> = (0..64).map(|at| (at * at * 4).to_string()).collect();
        fs::write("/lab/skewed.dist", skewed.join(" ")).unwrap();
        run(&format!("ip link add {DEVICE} numtxqueues 4 type dummy")).ok();
        let no_ipv6 = format!("/proc/sys/net/ipv6/conf/{DEVICE}/disable_ipv6");
        fs::write(no_ipv6, "1").unwrap();
        run(&format!("ip link set {DEVICE} up")).ok();
        Self
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        takt("revert");
        run(&format!("ip link del {DEVICE}"));
        if !std::thread::panicking() {
            assert_no_trace();
        }
    }
}

const NEAR1: &str = "[link.near1]\nrate = \"100mbit\"\n";
const NEAR2: &str = "[link.near2]\nrate = \"100mbit\"\n";
const REFUSED: &str = "near1 has the kernel's default qdisc instead of the gone 8123:";

#[test]
fn one_that_the_kernel_refuses_holds_up_no_other() {
    DEFAULT.run(|| {
        for backend in ["takt", "tree"] {
            let wires = [Wire::new(1), Wire::new(2)];
            let of_backend =
                |policy: &str| policy.replace("]\n", &format!("]\nbackend = \"{backend}\"\n"));
            let [first, second] = [NEAR1, NEAR2].map(of_backend);
            let both = format!("{first}{second}");
            for device in ["near1", "near2"] {
                run(&format!(
                    "tc qdisc add dev {device} root handle 8123: fq limit 77"
                ))
                .ok();
            }
            let theirs = wires[1].root_qdisc();
            let default = |wire: &Wire| assert!(wire.root_qdisc().starts_with("qdisc noqueue"));

            // A policy without the device.
            apply_with("--replace", &both).ok();
            forget_kind("near1");
            apply(&second)
                .says(&["near1: given back", REFUSED, "qdisc_not_restored"])
                .ends_with(4);
            default(&wires[0]);
            wires[0].assert_passes();
            assert!(link("near2").attached);
            apply(&second).says(&["near2: unchanged"]).ok();

            // No policy.
            run("tc qdisc add dev near1 root handle 8123: fq limit 77").ok();
            apply_with("--replace", &both).ok();
            forget_kind("near1");
            let reverted = takt("revert --output json").ends_with(4).json();
            assert_eq!(reverted["code"], "takt::host::qdisc_not_restored");
            default(&wires[0]);
            assert_eq!(wires[1].root_qdisc(), theirs);
            assert_no_trace();
            takt("revert").says(&["nothing to revert"]).ok();
            run("tc qdisc del dev near2 root").ok();
        }
    });
}

/// Have takt remember a qdisc of another kind before it, which this kernel does not have.
fn forget_kind(device: &str) {
    let dirs = ["/run/takt/links", "/run/takt/stock"];
    let links = dirs.iter().flat_map(fs::read_dir).flatten().flatten();
    let records = links.flat_map(|link| fs::read_dir(link.path()).unwrap().flatten());
    let mut changed = 0;
    for record in records {
        changed += usize::from(forget_kind_in(&record.path(), device));
    }
    assert_eq!(changed, 1, "records of {device}");
}

fn forget_kind_in(record: &Path, device: &str) -> bool {
    let text = fs::read_to_string(record).unwrap();
    // A note beside the records is empty.
    let mut value: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_its = value["device"] == device;
    if is_its {
        value["before"]["qdisc"]["kind"] = "gone".into();
        fs::write(record, value.to_string()).unwrap();
    }
    is_its
}

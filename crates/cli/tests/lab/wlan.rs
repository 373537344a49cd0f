//! The lab's wireless LAN: packets that the air has not taken wait in the access point's qdisc, and
//! nothing of it is left when it ends.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    machine::{DEFAULT, NEWEST},
    shell::{Ran, run, run_command},
};

const SCRIPT: &str = "/tmp/wlan.json";
const REPORTS: &str = "/tmp/wlan.snr";

/// Runs shell commands beside two stations with good reception.
fn beside_wlan(lines: &str) -> Ran {
    beside_wlan_of("Tap", lines)
}

fn beside_wlan_of(cards: &str, lines: &str) -> Ran {
    let station = json!({ "motion": { "Still": { "snr_centidb": 3000 } }, "rate": null });
    let script = json!({
        "profile": "wavelan",
        "seed": 1,
        "stations": [station, station],
        "wire_delay": { "secs": 0, "nanos": 2_000_000 },
        "interval": { "secs": 1, "nanos": 0 },
        "reports": { "file": REPORTS, "interval": { "secs": 0, "nanos": 200_000_000 } },
        "cards": cards,
    });
    fs::write(SCRIPT, script.to_string()).unwrap();
    run_command(Command::new("takt").args(["lab", "wlan", SCRIPT, "--", "sh", "-c", lines]))
}

/// The command's output, line by line, and the frames that the air carried.
fn printed(ran: Ran) -> (Vec<String>, Value) {
    let stdout = ran.ok();
    let (lines, statistics) = stdout.split_once("{\n").expect("there are statistics");
    let statistics = serde_json::from_str(&format!("{{{statistics}")).expect("they are JSON");
    (lines.lines().map(str::to_owned).collect(), statistics)
}

fn assert_nothing_left() {
    run("ls /dev/vduse").says(&["control"]);
    assert!(!fs::exists("/dev/vduse/takt-ap").unwrap());
    let namespaces = run("ip netns list").ok();
    for ours in ["first", "server", "ap", "sta1", "sta2"] {
        let is_there = namespaces
            .lines()
            .any(|line| line.split(' ').next() == Some(ours));
        assert!(!is_there, "{ours} is left in\n{namespaces}");
    }
}

/// Every station's SNR, around its mean.
fn assert_reports() {
    let reports = fs::read_to_string(REPORTS).unwrap();
    let stations: Vec<&str> = reports
        .lines()
        .map(|line| {
            let (station, db) = line.split_once(' ').expect("two words");
            let db: f64 = db.parse().expect("the second is a number");
            assert!((10.0..50.0).contains(&db), "{reports}");
            station
        })
        .collect();
    assert_eq!(stations, ["02:00:00:00:01:01", "02:00:00:00:01:02"]);
}

/// Returns the frames that the air carried.
fn flood() -> Value {
    let (lines, air) = printed(beside_wlan(
        "ip netns exec ap tc qdisc replace dev wlan0 root pfifo limit 50
         ip netns exec server ping -c 2 10.8.0.12 >/dev/null && echo pong
         ip netns exec sta1 iperf3 -s -1 >/dev/null &
         sleep 0.5
         ip netns exec server iperf3 -u -b 4M -l 1000 -c 10.8.0.11 -t 4 >/dev/null &
         sleep 3
         ip netns exec ap tc -s -j qdisc show dev wlan0
         ip netns exec ap cat /sys/class/net/wlan0/queues/tx-0/byte_queue_limits/inflight
         wait",
    ));
    assert_eq!(lines[0], "pong");
    let qdisc: Value = serde_json::from_str(&lines[1]).unwrap();
    let figure = |name: &str| qdisc[0][name].as_u64().unwrap();
    assert!((45..=50).contains(&figure("qlen")), "{qdisc}");
    assert!(figure("drops") > 100, "{qdisc}");
    let one_frame = 1000 + 8 + 20 + 14;
    assert_eq!(
        lines[2],
        one_frame.to_string(),
        "bytes in the driver's hands"
    );

    let [flooded, quiet] = [0, 1].map(|station| &air["stations"][station]["down"]);
    let frames = flooded["frames"].as_u64().unwrap();
    // 2 Mbit/s, less the long preambles and the contention.
    assert!((500..1000).contains(&frames), "{air}");
    assert_eq!(flooded["delivered_frames"], frames, "{air}");
    assert_eq!(quiet["frames"], 2, "{air}");
    assert_reports();
    assert_nothing_left();
    air
}

#[test]
fn what_the_air_has_not_taken_waits_in_the_qdisc() {
    DEFAULT.run(|| assert_eq!(flood()["to_nobody"], 0));
}

#[test]
fn so_it_does_on_the_newest_kernel() {
    NEWEST.run(|| assert_eq!(flood()["to_nobody"], 0));
}

#[test]
fn a_killed_radio_leaves_nothing() {
    DEFAULT.run(|| {
        beside_wlan("kill -9 $(ps -o pid,args | awk '/la[b] radio/ { print $1 }'); sleep 0.5")
            .ends_with(1)
            .says(&["takt lab radio", "signal: 9"]);
        assert_nothing_left();
        // The next one is not disturbed.
        let (lines, _) = printed(beside_wlan(
            "ip netns exec server ping -c 1 10.8.0.11 >/dev/null && echo pong",
        ));
        assert_eq!(lines, ["pong"]);
    });
}

/// With cards TCP knows how much its own device has not sent, and adds little to it; with TAP it
/// would fill the queue. And a station's multicast reaches the other, not itself.
#[test]
fn stations_with_cards_hold_back() {
    DEFAULT.run(|| {
        let (lines, air) = printed(beside_wlan_of(
            "Virtio",
            "ip netns exec sta1 tc qdisc replace dev wlan0 root pfifo limit 1000
             ip netns exec sta1 ping -c 2 -W 1 -I wlan0 224.0.0.1 >/dev/null 2>&1
             ip netns exec server iperf3 -s -1 >/dev/null &
             sleep 0.5
             ip netns exec sta1 iperf3 -c 10.8.0.1 -t 4 >/dev/null &
             sleep 3
             ip netns exec sta1 tc -s -j qdisc show dev wlan0
             wait",
        ));
        let qdisc: Value = serde_json::from_str(&lines[0]).unwrap();
        let figure = |name: &str| qdisc[0][name].as_u64().unwrap();
        assert!(figure("packets") > 200, "{qdisc}");
        assert!(figure("qlen") <= 8, "{qdisc}");
        assert_eq!(figure("drops"), 0, "{qdisc}");
        let [one, other] = [0, 1].map(|station| &air["stations"][station]);
        assert!(one["up"]["delivered_frames"].as_u64() > Some(200), "{air}");
        assert_eq!(other["down"]["delivered_frames"], 2, "{air}");
        assert_nothing_left();
    });
}

//! Gap mode: exact to the byte, and links whose helper is slow, killed or absent.

use std::{fs, thread, time::Duration};

use serde_json::Value;

use crate::{
    flow::Flow,
    helper::{assert_helpers, assert_no_helper, assert_rest_without_carrier, kill_helpers},
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    recorder::{PAUSE, Recorder, send_frame},
    shell::{run, run_far},
    takt::{apply, assert_no_trace, link, takt},
    wire::Wire,
};

pub const POLICY: &str = r#"
[link.near1]
rate = "100mbit"
overhead = 24
pacing = "gap"

[[link.near1.class]]
name = "even"
rate = "7mbit"
match = { proto = "udp", dst_port = 5001 }
"#;

const PAYLOAD_BYTES: usize = 1000;
const WIRE_BYTES: f64 = (PAYLOAD_BYTES + 8 + 20 + 14 + 24) as f64;
const SPACING_BYTES: f64 = WIRE_BYTES * 100.0 / 7.0;

fn gap(device: &str) -> Value {
    let status = takt("status --output json").json();
    let links = status["links"].as_array().unwrap();
    let link = links.iter().find(|link| link["device"] == device);
    link.unwrap_or_else(|| panic!("no link {device} in {status}"))
        .clone()
}

/// The distance of the class's frames on the wire, and the largest deviation.
fn worst_spacing_bytes(wire: &Wire, packets: u32) -> f64 {
    worst_spacing_while(wire, packets, || ())
}

/// The same, with an action after half of them.
fn worst_spacing_while(wire: &Wire, packets: u32, happens: impl FnOnce()) -> f64 {
    let recorder = Recorder::new(wire);
    let mut flow = Flow::new(wire, 5001);
    flow.send(packets / 2, PAYLOAD_BYTES);
    happens();
    flow.send(packets - packets / 2, PAYLOAD_BYTES);
    assert_eq!(flow.arrivals().len(), packets as usize);
    let frames = recorder.frames();
    let mut position = 0;
    let mut positions = Vec::new();
    for frame in &frames {
        if frame.ethertype() == [0x08, 0x00] {
            positions.push(position);
        }
        position += frame.bytes + 24;
    }
    assert_eq!(positions.len(), packets as usize);
    assert!(frames.iter().any(|frame| frame.ethertype() == PAUSE));
    positions
        .windows(2)
        .map(|pair| ((pair[1] - pair[0]) as f64 - SPACING_BYTES).abs())
        .fold(0.0, f64::max)
}

fn is_exact(wire: &Wire) {
    apply(POLICY).ok();
    assert_eq!(gap("near1")["pacing"], "gap");
    // The first one found the link idle.
    let worst = worst_spacing_bytes(wire, 300);
    assert!(worst <= 64.0, "{worst} bytes");
    let link = gap("near1");
    assert_eq!(link["gap"]["fallbacks"], 0, "{link}");
    assert!(link["gap"]["gap_frames"].as_u64().unwrap() > 1000, "{link}");
}

#[test]
fn spacing_is_exact_on_the_default_kernel() {
    DEFAULT.run(|| is_exact(&Wire::new(1)));
}

#[test]
fn spacing_is_exact_on_the_newest_kernel() {
    NEWEST.run(|| is_exact(&Wire::new(1)));
}

/// A thousand bytes are one percent of the wire's time each millisecond: whole gaps are ten frames.
#[test]
fn the_timer_leaves_few_gaps_to_fill() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&POLICY.replace("\"gap\"", "\"timer+gap\"")).ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(300, PAYLOAD_BYTES);
        assert_eq!(flow.arrivals().len(), 300);
        let link = gap("near1");
        assert_eq!(link["pacing"], "timer+gap");
        assert_eq!(link["gap"]["fallbacks"], 0, "{link}");
        let frames = link["gap"]["gap_frames"].as_u64().unwrap();
        assert!((200..=900).contains(&frames), "{link}");
        takt("revert").ok();
        assert_no_helper();
        assert_no_trace();
    });
}

/// In host time the helper may fall behind; the link still works.
#[test]
fn gaps_are_sent_on_two_processors() {
    TWO_PROCESSORS.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(300, PAYLOAD_BYTES);
        assert_eq!(flow.arrivals().len(), 300);
        assert!(gap("near1")["gap"]["gap_frames"].as_u64().unwrap() > 100);
        takt("revert").ok();
        assert_no_helper();
        assert_no_trace();
    });
}

#[test]
fn revert_ends_the_feeder() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        assert_helpers(1);
        // Another apply does not start another helper.
        apply(&POLICY.replace("7mbit", "8mbit")).ok();
        apply(POLICY).ok();
        assert_helpers(1);
        takt("feed").says(&["has a helper already"]).ends_with(1);
        takt("revert").ok();
        assert_no_helper();
        assert_no_trace();
        wire.assert_passes();
    });
}

#[test]
fn a_policy_without_gaps_ends_the_feeder() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        apply(&POLICY.replace("\"gap\"", "\"timer\"")).ok();
        assert_no_helper();
        let timer = gap("near1");
        assert_eq!(timer["pacing"], "timer");
        assert!(timer["gap"].is_null());
        let mut flow = Flow::new(&wire, 5001);
        flow.send(50, PAYLOAD_BYTES);
        assert_eq!(flow.arrivals().len(), 50);
        drop(flow);
        // The old stock does not make the next helper's too small.
        for _ in 0..3 {
            apply(POLICY).ok();
            let worst = worst_spacing_bytes(&wire, 100);
            assert!(worst <= 64.0, "{worst} bytes");
            apply(&POLICY.replace("\"gap\"", "\"timer\"")).ok();
        }
    });
}

#[test]
fn a_killed_feeder_is_missed_and_replaced() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        kill_helpers();
        let mut flow = Flow::new(&wire, 5001);
        // No packet is lost, and the rate stays.
        flow.send(500, PAYLOAD_BYTES);
        assert_eq!(flow.arrivals().len(), 500);
        drop(flow);
        let starved = gap("near1");
        assert_eq!(starved["pacing"], "timer (gap feeder behind)");
        assert_eq!(starved["gap"]["fallbacks"], 1);
        takt("status")
            .says(&["timer (gap feeder behind)", "`takt apply` starts it again"])
            .ends_with(4);

        apply(POLICY).says(&["near1: unchanged"]).ok();
        takt("status").ok();
        let worst = worst_spacing_bytes(&wire, 200);
        assert!(worst <= 64.0, "{worst} bytes");
        assert_eq!(gap("near1")["pacing"], "gap");
    });
}

#[test]
fn foreign_pause_frames_are_not_taken() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let recorder = Recorder::new(&wire);
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 1]);
        frame[12..14].copy_from_slice(&PAUSE);
        frame[15] = 1;
        frame[20] = 0x77;
        let before = link("near1").class("default").sent_packets;
        for mark in [0, 1, 0x7a00] {
            send_frame(&wire, &frame, mark);
        }
        thread::sleep(Duration::from_millis(100));
        let came = recorder.frames();
        let theirs = came.iter().filter(|frame| frame.start[20] == 0x77).count();
        assert_eq!(theirs, 3);
        // The kernel may have sent packets of its own, before the first count or after it.
        let sent = link("near1").class("default").sent_packets - before;
        let came_at_most = (came.len() + recorder.frames().len()) as u64;
        assert!(
            (3..=came_at_most).contains(&sent),
            "{sent} sent, {came_at_most} came"
        );
    });
}

#[test]
fn every_device_and_namespace_is_fed() {
    DEFAULT.run(|| {
        let (one, two) = (Wire::new(1), Wire::new(2));
        let both = format!("{POLICY}{}", POLICY.replace("near1", "near2"));
        apply(&both).ok();
        fs::write("/lab/far.toml", POLICY.replace("near1", "far1")).unwrap();
        run_far("takt apply /lab/far.toml").ok();
        assert_helpers(2);
        for wire in [&one, &two] {
            let worst = worst_spacing_bytes(wire, 100);
            assert!(worst <= 64.0, "{worst} bytes");
        }
        run_far("takt revert").ok();
        assert_helpers(1);

        // The helper does not wait for a removed device.
        run("ip link del near2").ok();
        let worst = worst_spacing_bytes(&one, 100);
        assert!(worst <= 64.0, "{worst} bytes");
        takt("revert");
        assert_no_helper();
    });
}

/// The helper goes on while stocks of other links are filled and given up.
#[test]
fn a_link_does_not_feel_others_come_and_go() {
    DEFAULT.run(|| {
        let (one, _two) = (Wire::new(1), Wire::new(2));
        apply(POLICY).ok();
        let both = format!("{POLICY}{}", POLICY.replace("near1", "near2"));
        let worst = worst_spacing_while(&one, 1300, || {
            apply(&both).ok();
            run("ip link del near2").ok();
            // The helper looks a second later: the last packets have to leave after that.
            thread::sleep(Duration::from_millis(300));
        });
        assert!(worst <= 64.0, "{worst} bytes");
        assert_eq!(gap("near1")["gap"]["fallbacks"], 0);
    });
}

#[test]
fn what_is_in_stock_goes_with_the_device() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let stocked = gap("near1")["gap"]["stocked"].clone();
        run("ip link set near1 down").ok();
        assert_eq!(gap("near1")["gap"]["stocked"], 0);
        run("ip link set near1 up").ok();
        // The helper tries once a second.
        thread::sleep(Duration::from_secs(3));
        assert_eq!(gap("near1")["gap"]["stocked"], stocked);
        let worst = worst_spacing_bytes(&wire, 100);
        assert!(worst <= 64.0, "{worst} bytes");
    });
}

#[test]
fn a_wire_without_a_carrier_is_not_fed() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        assert_rest_without_carrier(&wire, POLICY);
        let worst = worst_spacing_bytes(&wire, 100);
        assert!(worst <= 64.0, "{worst} bytes");
    });
}

/// The helper sends nothing to the link, and stays: taktd may give the device back to the link.
#[track_caller]
fn assert_not_fed() {
    let is_open = || {
        fs::read_to_string("/proc/net/packet")
            .unwrap()
            .lines()
            .count()
            > 1
    };
    let is_given_up = (0..300).any(|_| {
        thread::sleep(Duration::from_millis(10));
        !is_open()
    });
    assert!(is_given_up, "its packet sockets are open");
    assert_helpers(1);
}

/// Frames that leave through a foreign qdisc are used up at once, and no process waits for them.
#[test]
fn a_foreign_qdisc_is_sent_no_gaps() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let recorder = Recorder::new(&wire);
        run("tc qdisc replace dev near1 root pfifo").ok();
        assert_not_fed();
        let pauses = recorder
            .frames()
            .iter()
            .filter(|frame| frame.ethertype() == PAUSE)
            .count();
        // The helper acts on the kernel's report after a second. Until then refused frames are sent
        // again at once and after 10, 30, 70, 150, 310 and 630 ms, each time a batch of the
        // longest.
        let tries = 7;
        let shelf = 65;
        assert!(pauses <= tries * shelf, "{pauses} frames");
        takt("revert").says(&["left as it is"]).ends_with(4);
        assert_no_helper();
    });
}

#[test]
fn a_device_that_goes_is_fed_no_longer() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply(POLICY).ok();
        run("ip link del near1").ok();
        assert_not_fed();
        takt("revert").ok();
        assert_no_helper();
        assert_no_trace();
    });
}

#[test]
fn wires_that_cannot_have_gaps_are_refused() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let on = |device: &str| POLICY.replace("near1", device);
        apply(&on("lo"))
            .says(&["lo cannot have pacing = \"gap\"", "loopback"])
            .ends_with(2);
        run("ip tuntap add dev tun1 mode tun").ok();
        apply(&on("tun1")).says(&["of another kind"]).ends_with(2);
        run("ip link del tun1").ok();
        run("ip link set near1 mtu 150").ok();
        apply(POLICY).says(&["need an MTU of 174"]).ends_with(2);
        run("ip link set near1 mtu 1500").ok();
        apply(&POLICY.replace("overhead = 24", "overhead = 100"))
            .says(&["68 is the most"])
            .ends_with(2);
        takt("doctor").says(&["gap frames", "pass      near1", "veth"]);
        assert_no_trace();
    });
}

//! A policy with `[crowd]`: which flows get the congestion control, and that nothing remains of it.

use std::{fs, net::TcpListener, thread, time::Duration};

use serde_json::Value;

use crate::{
    flow::in_far_namespace,
    kernel_bpf::{Held, wait_for},
    machine::{DEFAULT, NEWEST, TOO_OLD},
    shell::{Ran, run, run_far},
    takt::{POLICY, assert_no_trace, takt},
    upload::Upload,
    wire::Wire,
};

const CROWD: &str = r#"
[crowd]
group = "lab"
key_file = "joined.key"
device = "near1"
interval = "100ms"
"#;

const KEY: &str = "/lab/joined.key";

const FAR_POLICY: &str = "/lab/far.toml";

/// Far below the wire's rate.
const RATE_BYTES_PS: u32 = 2_000_000;

#[test]
fn running_flows_are_moved_and_given_back() {
    DEFAULT.run(|| moves_and_gives_back(&Wire::new(1)));
}

#[test]
fn running_flows_are_moved_and_given_back_on_the_newest_kernel() {
    NEWEST.run(|| moves_and_gives_back(&Wire::new(1)));
}

#[test]
fn running_flows_are_moved_and_given_back_on_an_old_kernel() {
    // This kernel has no BPF qdiscs, and needs none here.
    TOO_OLD.run(|| moves_and_gives_back(&Wire::new(1)));
}

fn moves_and_gives_back(wire: &Wire) {
    let before = Held::now();
    let start = |listener: &TcpListener, name| {
        let upload = Upload::start(listener, name).unwrap();
        upload.paced(RATE_BYTES_PS)
    };
    let listener = listener(wire);
    let [default, chosen] = [None, Some("reno")].map(|name| start(&listener, name));
    let local = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = start(&local, None);
    assert_eq!(default.congestion(), "cubic");

    takt(&format!("check {}", write(CROWD)))
        .says(&["a crowd"])
        .ok();
    takt(&format!("apply --dry-run {POLICY}"))
        .says(&["crowd: would be joined", "+ crowd: "])
        .ok();
    assert_no_trace();
    apply(CROWD).says(&["crowd: joined"]).ok();
    assert_eq!(congestion(), "takt");
    assert_eq!(default.congestion(), "takt", "it had the default");
    assert_eq!(chosen.congestion(), "reno", "its program chose");
    assert_eq!(
        elsewhere.congestion(),
        "cubic",
        "it leaves by another device"
    );
    let new = start(&listener, None);
    assert_eq!(new.congestion(), "takt");

    apply(CROWD).says(&["crowd: unchanged"]).ok();
    let crowd = status(0);
    assert_eq!(crowd["group"], "lab");
    assert_eq!(crowd["device"], "near1");
    assert_eq!(crowd["bounds"]["flows"], 2);
    assert_eq!(crowd["bounds"]["source"], "own round trips");
    wait_for(|| status(0)["bounds"]["usage"]["flow_periods"].as_u64() > Some(4));

    apply(&CROWD.replace("100ms", "200ms"))
        .says(&["crowd: updated"])
        .ok();
    assert_eq!(status(0)["interval_ns"], 200_000_000);

    let sent_again = default.retransmitted();
    takt("revert").says(&["crowd: left"]).ok();
    assert_eq!(congestion(), "cubic");
    for flow in [&default, &new, &elsewhere] {
        assert_eq!(flow.congestion(), "cubic");
        flow.assert_goes_on();
    }
    assert_eq!(chosen.congestion(), "reno");
    assert!(default.retransmitted() - sent_again < 100, "a storm");
    assert_no_trace();
    before.wait_until_back();
    takt("revert").says(&["nothing to revert"]).ok();
}

#[test]
fn a_policy_without_a_crowd_ends_it() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let link = "[link.near1]\nrate = \"50mbit\"\n";
        apply(&format!("{link}{CROWD}")).ok();
        let flow = Upload::start(&listener(&wire), None).unwrap();
        assert_eq!(flow.congestion(), "takt");
        apply(link).says(&["crowd: left"]).ok();
        assert_eq!(
            (flow.congestion(), congestion()),
            ("cubic".into(), "cubic".into())
        );
        flow.assert_goes_on();
        assert_eq!(status(0), Value::Null);

        // A policy that the host cannot carry out leaves nothing, either.
        let foreign = format!("[link.near2]\nrate = \"50mbit\"\n{link}{CROWD}");
        let _other = Wire::new(2);
        run("tc qdisc add dev near2 root fq").ok();
        apply(&foreign).ends_with(4);
        assert_eq!(
            (flow.congestion(), congestion()),
            ("cubic".into(), "cubic".into())
        );
        run("tc qdisc del dev near2 root").ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn an_aggregator_bounds_nothing() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let aggregator = format!("{CROWD}aggregate = true\n");
        apply(&aggregator).says(&["crowd: joined"]).ok();
        let flow = Upload::start(&listener(&wire), None).unwrap();
        assert_eq!(flow.congestion(), "cubic");
        assert_eq!(status(0)["role"]["name"], "aggregator");
        assert_eq!(status(0)["bounds"], Value::Null);

        // An aggregator may become a terminal, and an aggregator again.
        apply(CROWD).says(&["crowd: updated"]).ok();
        assert_eq!(flow.congestion(), "takt");
        apply(&aggregator).says(&["crowd: updated"]).ok();
        assert_eq!(
            (flow.congestion(), congestion()),
            ("cubic".into(), "cubic".into())
        );
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn each_network_namespace_has_its_own_terms() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let default = "cat /proc/sys/net/ipv4/tcp_congestion_control";
        let far_default = run_far(default).ok();
        apply(CROWD).ok();
        fs::write(FAR_POLICY, CROWD.replace("near1", "far1")).unwrap();
        run_far(&format!("takt apply {FAR_POLICY}")).ok();
        let near = TcpListener::bind(format!("{}:0", wire.near_v4())).unwrap();
        let download = in_far_namespace(|| Upload::start(&near, None).unwrap());
        assert_eq!(download.congestion(), "takt");
        assert_eq!(status(0)["bounds"]["flows"], 1, "the end that acknowledges");

        takt("revert").ok();
        assert_eq!(
            (congestion(), download.congestion()),
            ("cubic".into(), "takt".into())
        );
        let far = run_far("takt status --output json").json();
        assert_eq!(far["crowd"]["bounds"]["flows"], 1);
        run_far("takt revert").ok();
        assert_eq!(download.congestion(), far_default.trim());
        assert_eq!(run_far(default).ok(), far_default);
        assert_no_trace();
    });
}

#[test]
fn terms_go_with_their_namespace() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let before = Held::now();
        run("ip netns add c").ok();
        run("ip -n c link add near1 type veth peer name far1").ok();
        let policy = write(CROWD);
        run(&format!("ip netns exec c takt apply {policy}")).ok();
        run("ip netns del c").ok();
        // For every later command of takt.
        takt("revert").says(&["nothing to revert"]).ok();
        assert_no_trace();
        before.wait_until_back();
    });
}

#[test]
fn a_default_that_somebody_changed_is_left() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply(CROWD).ok();
        run("sysctl -q -w net.ipv4.tcp_congestion_control=reno").ok();
        takt("status")
            .says(&["tcp_congestion_control is reno", "takt apply"])
            .ends_with(4);
        takt("revert")
            .says(&[
                "tcp_congestion_control is reno",
                "another program changed it",
            ])
            .ends_with(4);
        assert_eq!(congestion(), "reno");
        assert_no_trace();

        // The earlier default comes back.
        apply(CROWD).ok();
        takt("revert").ok();
        assert_eq!(congestion(), "reno");
        run("sysctl -q -w net.ipv4.tcp_congestion_control=cubic").ok();
    });
}

#[test]
fn a_device_may_vanish() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(CROWD).ok();
        run("ip link del near1").ok();
        takt("status").says(&["near1", "is gone"]).ends_with(4);
        apply(CROWD)
            .says(&["policy.toml:5:10", "near1"])
            .ends_with(5);
        assert_eq!(congestion(), "takt", "what was in force is");
        wire.make();
        apply(CROWD).says(&["crowd: updated"]).ok();
        takt("status").ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_key_is_made_once() {
    DEFAULT.run(|| {
        takt("crowd key /lab/crowd.key").says(&["every host"]).ok();
        takt("crowd key /lab/crowd.key")
            .says(&["exists"])
            .ends_with(2);
        fs::remove_file("/lab/crowd.key").unwrap();
    });
}

/// Random losses of the air: CUBIC would reduce its window by 3 of 10 segments for each.
#[test]
fn random_loss_takes_nothing_and_a_timeout_all() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let netem = |loss: &str| format!("netem delay 20ms rate 20mbit limit 1000 loss {loss}");
        run(&format!("tc qdisc add dev near1 root {}", netem("0%"))).ok();
        apply(CROWD).ok();
        let flow = Upload::start(&listener(&wire), None).unwrap();
        // The path holds 33 segments.
        thread::sleep(Duration::from_secs(5));
        let full = flow.window();
        run(&format!("tc qdisc change dev near1 root {}", netem("2%"))).ok();
        let lossy = usual_window(&flow, Duration::from_secs(5));
        assert!(flow.retransmitted() > 50, "hardly anything was lost");
        assert!(
            lossy * 10 > full * 7,
            "{full} segments went down to {lossy}"
        );

        run(&format!("tc qdisc change dev near1 root {}", netem("100%"))).ok();
        assert!(
            flow.is_reached(|window| window <= 2),
            "a timeout is not the air's"
        );
        run(&format!("tc qdisc change dev near1 root {}", netem("0%"))).ok();
        flow.assert_goes_on();
        takt("revert").ok();
        assert_no_trace();
        run("tc qdisc del dev near1 root").ok();
    });
}

/// The median: while the kernel recovers from a loss the window follows the segments in flight.
fn usual_window(flow: &Upload, time: Duration) -> u32 {
    let sample = |_| {
        thread::sleep(Duration::from_millis(10));
        flow.window()
    };
    let mut samples: Vec<u32> = (0..time.as_millis() / 10).map(sample).collect();
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// A listener at the far end.
fn listener(wire: &Wire) -> TcpListener {
    in_far_namespace(|| TcpListener::bind(format!("{}:0", wire.far_v4())).unwrap())
}

fn write(policy: &str) -> &'static str {
    // An existing one stays.
    run(&format!("takt crowd key {KEY}"));
    fs::write(POLICY, policy).unwrap();
    POLICY
}

fn apply(policy: &str) -> Ran {
    takt(&format!("apply {}", write(policy)))
}

/// The default one of this namespace.
pub fn congestion() -> String {
    let name = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    name.trim().to_owned()
}

/// Report on the crowd, with this exit status.
#[track_caller]
fn status(code: i32) -> Value {
    takt("status --output json").ends_with(code).json()["crowd"].clone()
}

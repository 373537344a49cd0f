//! Links on departure times: the backend `departure`, which fq keeps.

use std::{
    fs,
    net::UdpSocket,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::sys::socket::{setsockopt, sockopt::SndBuf};

use crate::{
    flow::{Flow, send_by_tcp},
    machine::{DEFAULT, NEWEST, WITHOUT_BPF_QDISCS, on_old_kernels},
    shell::run,
    takt::{apply, apply_with, assert_no_trace, link, status, takt},
    wire::Wire,
};

const PAYLOAD_BYTES: usize = 1000;
const FRAME_BYTES: u64 = 1042;
/// Room for about ten packets.
const SEND_BUFFER_BYTES: usize = 16 << 10;

fn policy(link_mbit: u32, classes: &[(u16, u32)]) -> String {
    let classes = classes.iter().map(|(port, kbit)| {
        format!(
            "[[link.near1.class]]\nname = \"p{port}\"\nrate = \"{kbit}kbit\"\naqm = \"off\"\n\
             match = {{ proto = \"udp\", dst_port = {port} }}\n"
        )
    });
    let link = format!("[link.near1]\nbackend = \"departure\"\nrate = \"{link_mbit}mbit\"\n");
    let default = "[[link.near1.class]]\nname = \"default\"\nbest_effort = true\n";
    link + &classes.collect::<String>() + default
}

/// Rates of 160 % of the link are kept in proportion; 80 % as they are, when three stop.
fn shares_are_kept(wire: &Wire) {
    const CLASSES: [(u16, u32); 5] = [
        (6001, 4000),
        (6002, 4000),
        (6003, 4000),
        (6004, 2000),
        (6005, 2000),
    ];
    apply(&policy(10, &CLASSES))
        .says(&["attached (departure)"])
        .ok();
    let all = Senders::start(wire, &CLASSES);
    thread::sleep(Duration::from_millis(500));
    let shares = sent_meanwhile(&CLASSES);
    let total: f64 = shares.iter().sum();
    for (share, wanted) in shares.iter().zip([0.25, 0.25, 0.25, 0.125, 0.125]) {
        let found = share / total;
        assert!((found - wanted).abs() < 0.002 * wanted, "{shares:?}");
    }
    assert!((9.98e6..10.02e6).contains(&total), "{total}");
    all.stop();
    let two = Senders::start(wire, &CLASSES[..2]);
    thread::sleep(Duration::from_millis(500));
    for rate_bps in &sent_meanwhile(&CLASSES)[..2] {
        assert!((3.99e6..4.01e6).contains(rate_bps), "{rate_bps}");
    }
    two.stop();
    takt("revert").ok();
    assert_eq!(wire.root_qdisc(), "qdisc noqueue 0: root");
    assert_no_trace();
}

/// Local senders that always have packets, and are pushed back.
struct Senders {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Senders {
    fn start(wire: &Wire, classes: &[(u16, u32)]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = classes.iter().map(|(port, _)| {
            let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
            sender.connect((wire.far_v4(), *port)).unwrap();
            setsockopt(&sender, SndBuf, &SEND_BUFFER_BYTES).unwrap();
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(Relaxed) {
                    // The far end refuses some: no socket is there.
                    let _ = sender.send(&[0; PAYLOAD_BYTES]);
                }
            })
        });
        let threads = threads.collect();
        Self { stop, threads }
    }

    fn stop(self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

/// What each class sends, in bit/s.
fn sent_meanwhile(classes: &[(u16, u32)]) -> Vec<f64> {
    let before = link("near1");
    let began = Instant::now();
    assert_eq!(before.backend, "departure");
    thread::sleep(Duration::from_secs(4));
    let after = link("near1");
    let seconds = began.elapsed().as_secs_f64();
    let sent = |(port, _): &(u16, u32)| {
        let name = format!("p{port}");
        (after.class(&name).sent_bytes - before.class(&name).sent_bytes) as f64 * 8.0 / seconds
    };
    classes.iter().map(sent).collect()
}

#[test]
fn shares_are_kept_on_old_kernels() {
    on_old_kernels(|| shares_are_kept(&Wire::new(1)));
}

#[test]
fn shares_are_kept_without_bpf_qdiscs() {
    WITHOUT_BPF_QDISCS.run(|| shares_are_kept(&Wire::new(1)));
}

#[test]
fn shares_are_kept_where_the_policy_demands_it() {
    DEFAULT.run(|| shares_are_kept(&Wire::new(1)));
}

#[test]
fn shares_are_kept_on_the_newest_kernel() {
    NEWEST.run(|| shares_are_kept(&Wire::new(1)));
}

#[test]
fn rates_change_while_packets_wait() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        let slow = policy(10, &[(5001, 1000)]);
        apply(&slow).says(&["attached (departure)"]).ok();
        apply(&slow).says(&["unchanged (departure)"]).ok();
        takt("status")
            .says(&[
                "backend: departure",
                "not kept: spare capacity is not shared",
            ])
            .ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(240, PAYLOAD_BYTES);
        let queued = link("near1").class("p5001").queued_packets;
        assert!((200..240).contains(&queued), "{queued}");
        // A new clock would let these overtake.
        apply(&policy(20, &[(5001, 2000), (5002, 1000)]))
            .says(&["updated (departure)"])
            .ok();
        flow.send(10, PAYLOAD_BYTES);
        assert_eq!(flow.arrivals(), (0..250).collect::<Vec<_>>());
        let class = link("near1");
        let class = class.class("p5001");
        assert_eq!(class.queued_packets, 0);
        assert_eq!(class.sent_bytes, 250 * FRAME_BYTES);
        send_by_tcp(&format!("{}:7000", wire.far_v4()), 1 << 20);
        takt("revert").says(&["near1: given back"]).ok();
        assert_no_trace();
    });
}

#[test]
fn a_link_moves_between_all_backends() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("tc qdisc add dev near1 root handle 1: pfifo limit 77").ok();
        let found = wire.root_qdisc();
        let stamped = policy(10, &[(5001, 1000)]);
        let on = |backend: &str| stamped.replace("\"departure\"", &format!("\"{backend}\""));
        apply_with("--replace", &stamped).ok();
        for backend in [
            "tree",
            "departure",
            "takt",
            "departure",
            "tree",
            "takt",
            "departure",
        ] {
            apply(&on(backend)).ok();
            assert_eq!(link("near1").backend, backend);
            let (links, code) = status();
            assert_eq!((links.len(), code), (1, Some(0)), "{backend}");
            wire.assert_passes();
        }
        takt("revert").ok();
        assert_eq!(wire.root_qdisc(), found);
        assert_no_trace();
    });
}

fn programs_of_others_stay(wire: &Wire) {
    run("tc qdisc add dev near1 clsact").ok();
    run("tc filter add dev near1 egress matchall action ok").ok();
    let filters = || run("tc filter show dev near1 egress").ok();
    let before = filters();
    apply(&policy(10, &[(5001, 1000)])).ok();
    wire.assert_passes();
    takt("revert").ok();
    assert_eq!(filters(), before);
    run("tc qdisc del dev near1 clsact").ok();
    assert_no_trace();
}

#[test]
fn programs_of_others_stay_on_old_kernels() {
    on_old_kernels(|| programs_of_others_stay(&Wire::new(1)));
}

#[test]
fn programs_of_others_stay_on_the_default_kernel() {
    DEFAULT.run(|| programs_of_others_stay(&Wire::new(1)));
}

#[test]
fn what_is_missing_is_reported_and_put_back() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        let stamped = policy(10, &[(5001, 1000)]);
        apply(&stamped).ok();
        run("tc qdisc replace dev near1 root handle 5: pfifo").ok();
        takt("status")
            .says(&["the device carries pfifo 5:"])
            .ends_with(4);
        takt("revert").says(&["left as it is"]).ends_with(4);
        assert!(wire.root_qdisc().starts_with("qdisc pfifo 5:"));
        run("tc qdisc del dev near1 root").ok();
        // Without records another takt's program is replaced all the same.
        apply(&stamped).ok();
        fs::remove_dir_all("/run/takt/stock").unwrap();
        apply(&stamped).says(&["--replace"]).ends_with(4);
        apply_with("--replace", &stamped).ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(100, PAYLOAD_BYTES);
        assert_eq!(flow.arrivals().len(), 100);
        assert_eq!(link("near1").class("p5001").sent_bytes, 100 * FRAME_BYTES);
        takt("revert").ok();
        run("tc qdisc del dev near1 root").ok();
        assert_no_trace();
        apply(&stamped).ok();
        run("ip link del near1").ok();
        takt("status").says(&["the device is gone"]).ends_with(4);
        wire.make();
        apply(&stamped).says(&["near1: attached (departure)"]).ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

/// The second device of a policy, and one with several queues.
#[test]
fn each_queue_of_a_device_has_an_fq() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        run("ip link add many numtxqueues 4 type veth peer name other").ok();
        run("ip link set many up").ok();
        let fqs = || {
            run("tc qdisc show dev many")
                .ok()
                .matches("qdisc fq ")
                .count()
        };
        let before = run("tc qdisc show dev many").ok();
        let policy = |rate| {
            let one = policy(10, &[(5001, rate)]);
            format!("{one}{}", one.replace("near1", "many"))
        };
        apply(&policy(1000))
            .says(&["near1: attached (departure)", "many: attached (departure)"])
            .ok();
        assert_eq!(fqs(), 4);
        apply(&policy(2000)).ok();
        assert_eq!(fqs(), 4);
        let (links, code) = status();
        assert_eq!((links.len(), code), (2, Some(0)));
        wire.assert_passes();
        // One that leaves the policy, while the other stays.
        let one = policy(2000);
        let one = one.split_once("[link.many]").expect("two links").0;
        apply(one).says(&["many: given back"]).ok();
        assert_eq!(run("tc qdisc show dev many").ok(), before);
        takt("revert").ok();
        run("ip link del many").ok();
        assert_no_trace();
    });
}

/// Changed and killed at any moment, then applied again.
#[test]
fn a_change_that_was_cut_short_is_completed() {
    on_old_kernels(|| {
        let wire = Wire::new(1);
        let [slow, fast] = [1000, 2000].map(|kbit| policy(10, &[(5001, kbit)]));
        for delay_ms in 0..30 {
            apply(&slow).ok();
            fs::write("/lab/fast.toml", &fast).unwrap();
            let mut child = Command::new("takt")
                .args(["apply", "/lab/fast.toml"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(2 * delay_ms));
            child.kill().unwrap();
            child.wait().unwrap();
            wire.assert_passes();
            apply(&slow).ok();
            takt("status").ok();
            assert_eq!(link("near1").class("p5001").rate_bps, 1_000_000);
        }
        takt("revert").ok();
        assert_eq!(wire.root_qdisc(), "qdisc noqueue 0: root");
        assert_no_trace();
    });
}

/// Beyond the limit packets are dropped, and counted.
#[test]
fn a_backlog_is_limited_in_time() {
    NEWEST.run(|| {
        let wire = Wire::new(1);
        let short = policy(10, &[(5001, 1000)]).replace("aqm", "queue_packets = 20\naqm");
        apply(&short).ok();
        let mut flow = Flow::new(&wire, 5001);
        flow.send(100, PAYLOAD_BYTES);
        let arrived = flow.arrivals().len() as u64;
        let class = link("near1");
        let class = class.class("p5001");
        assert!((25..35).contains(&arrived), "{arrived}");
        assert_eq!(class.dropped_packets, 100 - arrived);
        takt("revert").ok();
        assert_no_trace();
    });
}

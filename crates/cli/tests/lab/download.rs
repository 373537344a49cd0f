//! What a device receives is divided as the policy says, and nothing of that is left.

use std::{
    io::{self, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use nix::sys::socket::{
    setsockopt,
    sockopt::{RcvBufForce, SndBufForce},
};

use crate::{
    daemon::Daemon,
    devices::{datagram, tun},
    flow::in_far_namespace,
    killed::{killed_after_changes, write},
    machine::{DEFAULT, NEWEST, on_old_kernels},
    shell::run,
    takt::{apply, apply_with, assert_no_trace, link, status, takt},
    wire::Wire,
};

/// Of the class that goes first, and of the others.
const CALLS: u16 = 5060;
const BULK: u16 = 5001;
const PACKETS: usize = 300;
const PAYLOAD: usize = 1000;
/// Such a packet on the wire.
const FRAME: usize = PAYLOAD + 8 + 20 + 14;
const RATE_BPS: f64 = 8e6;
/// So many changes are between two kills.
const APART: usize = 4;

fn policy(backend: &str) -> String {
    format!(
        "[link.near1]\nrate = \"1gbit\"\non_conflict = \"restore\"\n\
         [[link.near1.class]]\nname = \"calls\"\nrate = \"1mbit\"\nceil = \"8mbit\"\npriority = 0\n\
         match = {{ proto = \"udp\", dst_port = {CALLS} }}\n\
         [[link.near1.class]]\nname = \"default\"\naqm = \"off\"\n\
         [link.near1.download]\nrate = \"8mbit\"\n{backend}"
    )
}

/// Sockets at both ends, for packets that come in.
struct Incoming {
    near: UdpSocket,
    far: UdpSocket,
}

impl Incoming {
    fn new(wire: &Wire, port: u16) -> Self {
        let near = UdpSocket::bind((&*wire.near_v4(), 0)).unwrap();
        setsockopt(&near, RcvBufForce, &(4 << 20)).unwrap();
        near.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let to = near.local_addr().unwrap();
        let far = in_far_namespace(|| UdpSocket::bind(("0.0.0.0", port)).unwrap());
        // Room for all that waits: it is the sender's until it arrives.
        setsockopt(&far, SndBufForce, &(4 << 20)).unwrap();
        far.connect(to).unwrap();
        Self { near, far }
    }

    fn send(&self, packets: usize) {
        for _ in 0..packets {
            self.far.send(&[0; PAYLOAD]).unwrap();
        }
    }

    /// When each of so many comes.
    fn arrivals(&self, packets: usize) -> Vec<Instant> {
        let mut packet = [0; PAYLOAD];
        let arrive = |_| {
            self.near.recv(&mut packet).unwrap();
            Instant::now()
        };
        (0..packets).map(arrive).collect()
    }
}

fn has_ingress(device: &str) -> bool {
    let qdiscs = run(&format!("tc qdisc show dev {device}")).ok();
    qdiscs.contains("clsact") || qdiscs.contains("ingress")
}

#[track_caller]
fn assert_reverted() {
    takt("revert").ok();
    assert_no_trace();
    assert_eq!(run("ip -br link show type ifb").ok(), "");
    assert!(!has_ingress("near1"));
}

fn waits(backend: &str) {
    let wire = Wire::new(1);
    let (bulk, calls) = (Incoming::new(&wire, BULK), Incoming::new(&wire, CALLS));
    apply(&policy(backend))
        .says(&["near1: attached", "near1.download: attached"])
        .ok();
    let (arrivals, called) = thread::scope(|scope| {
        let called = scope.spawn(|| calls.arrivals(1)[0]);
        let arrivals = scope.spawn(|| bulk.arrivals(PACKETS));
        bulk.send(PACKETS);
        calls.send(1);
        (arrivals.join().unwrap(), called.join().unwrap())
    });
    let (first, last) = (arrivals[0], arrivals[PACKETS - 1]);
    let measured = (PACKETS - 1) as f64 * FRAME as f64 * 8.0 / (last - first).as_secs_f64();
    println!("{backend}: {measured:.0} bit/s");
    assert!((measured / RATE_BPS - 1.0).abs() < 0.02, "{measured}");
    let wait = last - called;
    assert!(
        wait > Duration::from_millis(200),
        "{wait:?} before the last"
    );

    let download = link("near1.download");
    assert_eq!(download.class("calls").sent_packets, 1);
    assert!(download.class("default").sent_packets >= PACKETS as u64);
    assert_eq!(link("near1").class("calls").sent_packets, 0);
    assert_eq!(status().1, Some(0));
    assert_reverted();
}

#[test]
fn what_comes_in_waits_by_class_on_takts_qdisc() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| waits(""));
    }
}

#[test]
fn what_comes_in_waits_by_class_in_a_tree() {
    DEFAULT.run(|| waits("backend = \"tree\"\n"));
}

#[test]
fn what_comes_in_waits_by_class_on_old_kernels() {
    on_old_kernels(|| waits(""));
}

/// PPP, WireGuard and tunnels have none.
#[test]
fn packets_need_no_ethernet_header() {
    DEFAULT.run(|| {
        let mut tun = tun("tun7");
        run("ip link set tun7 up").ok();
        run("ip address add 10.77.0.1/24 dev tun7").ok();
        let receiver = UdpSocket::bind("10.77.0.1:5001").unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        for backend in ["takt", "tree"] {
            apply(&format!(
                "[link.tun7]\nrate = \"1gbit\"\n\
                 download = {{ rate = \"1mbit\", backend = \"{backend}\" }}\n\
                 [[link.tun7.class]]\nname = \"its\"\nmatch = {{ proto = \"udp\", src_port = 5001 }}\n"
            ))
            .ok();
            for _ in 0..10 {
                tun.write_all(&datagram()).unwrap();
            }
            for _ in 0..10 {
                receiver.recv(&mut [0; 100]).unwrap();
            }
            assert_eq!(link("tun7.download").class("its").sent_packets, 10, "{backend}");
            takt("revert").ok();
            assert_no_trace();
        }
    });
}

#[test]
fn a_dry_run_makes_no_device() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        apply_with("--dry-run", &policy(""))
            .says(&["near1.download"])
            .ok();
        assert_eq!(run("ip -br link show type ifb").ok(), "");
        // Nor does a policy that is refused.
        let missing = format!("{}[link.missing1]\nrate = \"1mbit\"\n", policy(""));
        apply(&missing).ends_with(5);
        assert_eq!(run("ip -br link show type ifb").ok(), "");
        assert_no_trace();
    });
}

#[test]
fn another_programs_device_of_its_name_is_left_alone() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        run("ip link add near1.download type dummy").ok();
        for flags in ["--dry-run", ""] {
            apply_with(flags, &policy(""))
                .says(&["near1.download is another program's device", "ip link set"])
                .ends_with(4);
        }
        run("ip link del near1.download").ok();
        assert_no_trace();
    });
}

/// A filter of another program's in the place of takt's: it stays, and all else is taken back.
#[test]
fn nothing_is_left_of_an_apply_that_fails() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("tc qdisc add dev near1 clsact").ok();
        run("tc filter add dev near1 ingress pref 31361 protocol all handle 1 matchall action continue")
            .ok();
        let before = run("tc filter show dev near1 ingress").ok();
        let failed = apply(&policy("")).ends_with(1);
        assert!(!failed.stderr.contains("undoing"), "{failed}");
        assert_eq!(run("tc filter show dev near1 ingress").ok(), before);
        assert_eq!(run("ip -br link show type ifb").ok(), "");
        assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
        assert_eq!(gro_max_size(), 65_536);
        assert_no_trace();
    });
}

#[test]
fn each_device_has_its_own() {
    DEFAULT.run(|| {
        let wires = [1, 2].map(Wire::new);
        let both = format!("{}{}", policy(""), policy("").replace("near1", "near2"));
        apply(&both)
            .says(&["near1.download: attached", "near2.download: attached"])
            .ok();
        for (wire, packets) in wires.iter().zip([30, 5]) {
            let bulk = Incoming::new(wire, CALLS);
            bulk.send(packets);
            bulk.arrivals(packets);
            let name = format!("{}.download", wire.near);
            assert_eq!(link(&name).class("calls").sent_packets, packets as u64);
        }
        // One of them goes; twice is as once.
        for _ in 0..2 {
            apply(&policy("")).ok();
            assert!(!has_ingress("near2"));
            assert_eq!(link("near1.download").class("calls").sent_packets, 30);
        }
        assert_reverted();
    });
}

#[test]
fn other_programs_filters_stay() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("tc qdisc add dev near1 clsact").ok();
        run("tc filter add dev near1 ingress pref 10 matchall action continue").ok();
        let before = run("tc filter show dev near1 ingress").ok();
        let bulk = Incoming::new(&wire, BULK);
        apply(&policy("")).ok();
        bulk.send(5);
        bulk.arrivals(5);
        assert!(link("near1.download").class("default").sent_packets >= 5);
        takt("revert").ok();
        assert_eq!(run("tc filter show dev near1 ingress").ok(), before);
        assert!(has_ingress("near1"));
        assert_no_trace();
    });
}

#[test]
fn what_another_program_removes_is_told_and_put_back() {
    const REMOVE: &str = "tc filter del dev near1 ingress";
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let bulk = Incoming::new(&wire, BULK);
        apply(&policy("")).ok();
        run(REMOVE).ok();
        let (links, code) = status();
        assert_eq!(code, Some(4));
        let problem = links[1].problem.as_deref().unwrap_or_default();
        assert!(problem.contains("does not come here"), "{links:#?}");
        // Nothing is lost meanwhile.
        bulk.send(5);
        bulk.arrivals(5);
        apply(&policy("")).ok();
        assert_eq!(status().1, Some(0));
        // Without it, all that comes in is.
        run("ip link del takt-dl0").ok();
        let (links, code) = status();
        assert_eq!(code, Some(4));
        let problems = links.iter().filter_map(|link| link.problem.as_deref());
        let told = problems.filter(|problem| problem.contains("near1 receives is lost"));
        assert_eq!(told.count(), 1, "{links:#?}");
        apply(&policy("")).ok();
        assert_eq!(status().1, Some(0));
        bulk.send(5);
        bulk.arrivals(5);

        let _daemon = Daemon::start();
        for harm in [
            REMOVE,
            "tc qdisc del dev near1 clsact",
            "ip link del takt-dl0",
        ] {
            run(harm).ok();
            until(harm, || status().1 == Some(0));
        }
        assert_reverted();
    });
}

#[test]
fn a_device_that_returns_has_its_download_again() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(&policy("")).ok();
        let _daemon = Daemon::start();
        run("ip link del near1").ok();
        assert_eq!(status().1, Some(4));
        wire.make();
        until("the device returned", || status().1 == Some(0));
        let bulk = Incoming::new(&wire, BULK);
        bulk.send(5);
        bulk.arrivals(5);
        assert!(link("near1.download").class("default").sent_packets >= 5);
        assert_reverted();
    });
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..50 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}: {:#?}", status());
}

/// Whatever a takt that died has left: the next one completes it, or gives all of it back.
#[test]
fn all_of_it_is_given_back_after_a_kill() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let with = policy("");
        let (without, _) = with.split_once("[link.near1.download]").unwrap();
        for (from, to) in [(without, &*with), (&with, without)] {
            let prepare = || {
                apply(from).ok();
                write(to);
            };
            let mut completes = false;
            killed_after_changes(APART, prepare, || {
                if completes {
                    apply(to).ok();
                    assert_eq!(status().1, Some(0));
                    assert_eq!(status().0.len(), 1 + usize::from(to == with));
                }
                completes = !completes;
                assert_reverted();
            });
        }
    });
}

fn gro_max_size() -> u64 {
    let shown = run("ip -d -j link show dev near1").json();
    shown[0]["gro_max_size"].as_u64().expect("a number")
}

/// What is merged on the way in would wait as a whole.
#[test]
fn a_slow_download_merges_little() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("ethtool -K near1 gro on").ok();
        let before = gro_max_size();
        let to = format!("{}:5001", wire.near_v4());
        // Merged packets, and of these those that were longer than they may be.
        let longest = || {
            let counted = link("near1.download").class("default").clone();
            let seen = (counted.gso_packets, counted.long_packets);
            let listener = TcpListener::bind(&to).unwrap();
            let mut far = in_far_namespace(|| TcpStream::connect(&to).unwrap());
            let (mut near, _) = listener.accept().unwrap();
            let reader = thread::spawn(move || io::copy(&mut near, &mut io::sink()).unwrap());
            far.write_all(&[0; 300_000]).unwrap();
            drop(far);
            reader.join().unwrap();
            let class = link("near1.download").class("default").clone();
            (class.gso_packets - seen.0, class.long_packets - seen.1)
        };
        let policy = |rate: &str, more: &str| {
            format!("[link.near1]\nrate = \"1gbit\"\n{more}download = {{ rate = \"{rate}\" }}\n")
        };
        apply(&policy("8mbit", "packets = \"gso\"\n")).ok();
        assert_eq!(gro_max_size(), before);
        let (merged, _) = longest();
        println!("{merged} packets were merged");
        assert!(merged > 0);
        apply(&policy("8mbit", "")).ok();
        assert_eq!(gro_max_size(), 1501);
        assert_eq!(longest(), (0, 0));
        // Six frames of a millisecond.
        apply(&policy("80mbit", "")).ok();
        assert_eq!(gro_max_size(), 6 * 1500 + 1);
        let (_, long) = longest();
        assert_eq!(long, 0);
        apply(&policy("900mbit", "")).ok();
        assert_eq!(gro_max_size(), before);
        apply(&policy("8mbit", "")).ok();
        takt("revert").ok();
        assert_eq!(gro_max_size(), before);
        assert_no_trace();
    });
}

//! Segments are as long as the bursts of link and class allow, on every backend, and devices and
//! sockets get their own limits back.

use std::{
    fs,
    io::{self, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    os::fd::AsRawFd,
    thread,
    time::Duration,
};

use nix::sys::socket::{setsockopt, sockopt::UdpGsoSegment};

use crate::{
    daemon::Daemon,
    flow::in_far_namespace,
    killed::{killed_after_changes, write},
    machine::{DEFAULT, NEWEST},
    shell::run,
    takt::{apply, assert_no_trace, link, takt},
    wire::Wire,
};

/// A frame of IPv4 and TCP that is full.
const FRAME: u64 = 1514;
const ROUND_TRIPS: &str = "/proc/sys/net/ipv4/tcp_tso_rtt_log";
/// So many changes are between two kills.
const APART: usize = 3;
const PINS: &str = "/sys/fs/bpf/takt-segments";

fn policy(backend: &str) -> String {
    format!(
        "[link.near1]\nrate = \"1gbit\"\nbackend = \"{backend}\"\n\
         [[link.near1.class]]\nname = \"slow\"\nrate = \"8mbit\"\naqm = \"off\"\n\
         match = {{ proto = \"tcp\", dst_port = 5001 }}\n\
         [[link.near1.class]]\nname = \"default\"\nrate = \"800mbit\"\naqm = \"off\"\n"
    )
}

fn gso_max_segs(device: &str) -> u64 {
    let shown = run(&format!("ip -d -j link show dev {device}")).json();
    shown[0]["gso_max_segs"].as_u64().expect("a number")
}

fn offloads_on() {
    run("ethtool -K near1 tx on sg on tso on gso on").ok();
}

/// A connection to the far end, where all that it sends is read.
struct Connection {
    stream: TcpStream,
}

impl Connection {
    fn open(wire: &Wire, port: u16) -> Self {
        let to = format!("{}:{port}", wire.far_v4());
        let listener = in_far_namespace(|| TcpListener::bind(&to).unwrap());
        let stream = TcpStream::connect(&to).unwrap();
        let (mut accepted, _) = listener.accept().unwrap();
        thread::spawn(move || io::copy(&mut accepted, &mut io::sink()));
        Self { stream }
    }

    /// The mean of the packets on the wire while it sends so much, in bytes.
    fn mean_packet_bytes(&mut self, wire: &Wire, bytes: usize) -> u64 {
        let before = wire.received();
        self.stream.write_all(&vec![0; bytes]).unwrap();
        // Until all is acknowledged.
        let queued = || {
            let mut queued = 0;
            // SAFETY: the kernel writes one int.
            let done =
                unsafe { libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) };
            assert_eq!(done, 0);
            queued
        };
        while queued() > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let after = wire.received();
        (after.bytes - before.bytes) / (after.packets - before.packets)
    }

    /// Whether it has the rate of a class of so many Mbit/s, 5 % above that or a little less, since TCP
    /// counts payload.
    fn is_limited_for(&self, mbit: u64) -> bool {
        (mbit * 120_000..=mbit * 132_000).contains(&self.rate())
    }

    fn rate(&self) -> u64 {
        let (mut rate, mut size) = (0u64, 8);
        // SAFETY: the kernel writes at most 8 bytes.
        let done = unsafe {
            libc::getsockopt(
                self.stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MAX_PACING_RATE,
                (&raw mut rate).cast(),
                &raw mut size,
            )
        };
        assert_eq!(done, 0);
        rate
    }
}

fn assert_given_back(before: &str, connections: &[&Connection]) {
    for connection in connections {
        assert_eq!(connection.rate(), u64::MAX);
    }
    assert_eq!(fs::read_to_string(ROUND_TRIPS).unwrap(), before);
    assert_no_trace();
}

fn are_short_where_a_class_is_slow(backend: &str) {
    let wire = Wire::new(1);
    offloads_on();
    let before = fs::read_to_string(ROUND_TRIPS).unwrap();
    let mut old = Connection::open(&wire, 5001);
    // The path has no delay, so that TCP would make long ones.
    assert!(old.mean_packet_bytes(&wire, 200_000) > 8 * FRAME);

    apply(&policy(backend)).ok();
    let mut new = Connection::open(&wire, 5001);
    let mut fast = Connection::open(&wire, 5002);
    for (connection, what) in [(&mut old, "old"), (&mut new, "new")] {
        let mean = connection.mean_packet_bytes(&wire, 200_000);
        println!("{backend}: {what} socket of a slow class: {mean} bytes a packet");
        assert!(mean <= 2 * FRAME, "{what}: {mean}");
    }
    let mean = fast.mean_packet_bytes(&wire, 2_000_000);
    println!("{backend}: a fast class: {mean} bytes a packet");
    assert!(mean > 8 * FRAME, "{mean}");
    assert_eq!(fast.rate(), u64::MAX);

    // A policy without short segments gives them back, and takes them again.
    apply(&policy(backend).replacen("]\n", "]\npackets = \"gso\"\n", 1)).ok();
    assert_eq!((old.rate(), new.rate()), (u64::MAX, u64::MAX));
    assert_eq!(fs::read_to_string(ROUND_TRIPS).unwrap(), before);
    apply(&policy(backend)).ok();
    assert!(old.rate() < 2_000_000);
    // A takt died while it gave them back.
    for device in fs::read_dir(PINS).unwrap() {
        fs::remove_file(device.unwrap().path().join("event")).unwrap();
    }
    apply(&policy(backend)).ok();
    let mut newer = Connection::open(&wire, 5001);
    assert!(newer.mean_packet_bytes(&wire, 200_000) <= 2 * FRAME);

    takt("revert").ok();
    assert_given_back(&before, &[&old, &new, &newer, &fast]);
}

#[test]
fn are_short_where_a_class_is_slow_on_takts_qdisc() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| are_short_where_a_class_is_slow("takt"));
    }
}

#[test]
fn are_short_where_a_class_is_slow_on_the_kernels_own_qdiscs() {
    DEFAULT.run(|| {
        for backend in ["departure", "tree"] {
            are_short_where_a_class_is_slow(backend);
        }
    });
}

/// Also by sockets that are older than the policy, and taktd follows a changed MTU.
#[test]
fn of_a_slow_link_are_short() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        offloads_on();
        let before = fs::read_to_string(ROUND_TRIPS).unwrap();
        let mut old = Connection::open(&wire, 5001);
        assert!(old.mean_packet_bytes(&wire, 200_000) > 8 * FRAME);
        // 5,000 bytes.
        apply("[link.near1]\nrate = \"40mbit\"\n").ok();
        let _daemon = Daemon::start();
        assert_eq!(wire.gso_max_segs(), 3);
        for connection in [&mut old, &mut Connection::open(&wire, 5001)] {
            let mean = connection.mean_packet_bytes(&wire, 100_000);
            assert!((FRAME..=3 * FRAME).contains(&mean), "{mean}");
        }
        for (mtu, segments) in [(9000, 1), (1500, 3)] {
            run(&format!("ip link set near1 mtu {mtu}")).ok();
            for _ in 0..50 {
                if wire.gso_max_segs() == segments {
                    break;
                }
                thread::sleep(Duration::from_millis(100));
            }
            assert_eq!(wire.gso_max_segs(), segments, "MTU {mtu}");
        }

        takt("revert").ok();
        assert_eq!(wire.gso_max_segs(), 65_535);
        // Its congestion window grows first.
        assert!(old.mean_packet_bytes(&wire, 4_000_000) > 8 * FRAME);
        assert_given_back(&before, &[&old]);
    });
}

/// What nothing limits is paced as a whole, and counted.
#[test]
fn that_are_longer_are_counted() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        offloads_on();
        // Other hosts' and the kernel's own packets are in the default class.
        let class =
            "[[link.near1.class]]\nname = \"quic\"\nmatch = { proto = \"udp\", dst_port = 9 }\n";
        apply(&format!("[link.near1]\nrate = \"20mbit\"\n{class}")).ok();
        let to = format!("{}:9", wire.far_v4());
        let sink = in_far_namespace(|| UdpSocket::bind(&to).unwrap());
        let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
        sender.connect(&to).unwrap();
        setsockopt(&sender, UdpGsoSegment, &1000).unwrap();
        sender.send(&[0; 10_000]).unwrap();
        let counted = link("near1").class("quic").clone();
        assert_eq!((counted.gso_packets, counted.long_packets), (1, 1));
        // Each of the ten has its headers.
        assert_eq!(counted.sent_bytes, 10 * (1000 + 42));
        takt("explain long_packets").says(&["UDP_SEGMENT"]).ok();
        drop(sink);
    });
}

/// Whatever a takt that died has left: the next one gives all of it back.
#[test]
fn are_given_back_after_a_kill() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        offloads_on();
        let before = fs::read_to_string(ROUND_TRIPS).unwrap();
        run("ip link add link near1 name near1.9 type vlan id 9").ok();
        let connection = Connection::open(&wire, 5001);
        let fast = "[link.near1]\npackets = \"gso\"\nrate = \"1gbit\"\n";
        let slow = policy("takt")
            .replacen("1gbit", "400mbit", 1)
            .replacen("800", "300", 1);
        let slower = slow.replacen("8mbit", "4mbit", 1);
        for (from, to) in [(fast, &*slow), (&slow, fast), (&slow, &*slower)] {
            let prepare = || {
                apply(from).ok();
                write(to);
            };
            let mut completes = false;
            killed_after_changes(APART, prepare, || {
                if completes {
                    apply(to).ok();
                    for (mbit, policy) in [(4, &*slower), (8, &slow)] {
                        let is_limited = connection.is_limited_for(mbit);
                        assert_eq!(is_limited, to == policy, "{} bytes/s", connection.rate());
                    }
                }
                completes = !completes;
                takt("revert").ok();
                assert_eq!(
                    (wire.gso_max_segs(), gso_max_segs("near1.9")),
                    (65_535, 65_535)
                );
                assert_given_back(&before, &[&connection]);
            });
        }
    });
}

/// Sockets on a VLAN obey the limit of the device that the VLAN has.
#[test]
fn of_devices_above_have_the_links_limit() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        offloads_on();
        run("ip link add link near1 name near1.9 type vlan id 9").ok();
        run("ip link set near1.9 gso_max_segs 60").ok();
        for (rate, limit) in [("40mbit", 3), ("100mbit", 8), ("10gbit", 60)] {
            apply(&format!("[link.near1]\nrate = \"{rate}\"\n")).ok();
            assert_eq!(gso_max_segs("near1.9"), limit, "{rate}");
        }
        apply("[link.near1]\nrate = \"40mbit\"\n").ok();
        // Another administrator's limit stays.
        run("ip link set near1.9 gso_max_segs 2").ok();
        takt("revert").ok();
        assert_eq!((wire.gso_max_segs(), gso_max_segs("near1.9")), (65_535, 2));
        assert_no_trace();
    });
}

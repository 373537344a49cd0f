//! A terminal bounds what a host behind it receives: the round trip falls at the same rate, the data
//! is whole, and all comes back.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    crowd_downloads::Seen,
    flow::in_namespace,
    inventory::Inventory,
    kernel_bpf::wait_for,
    machine::{DEFAULT, NEWEST, TOO_OLD},
    reporting::Daemon,
    shell::run,
    terminals::{SERVER, Terminals, address, in_netns, name, narrow},
    upload::Upload,
};

const BEHIND: &str = "10.10.0.2";

#[test]
fn round_trips_fall_and_come_back() {
    DEFAULT.run(|| {
        round_trips_fall();
    });
}

#[test]
fn round_trips_fall_and_come_back_on_the_newest_kernel() {
    NEWEST.run(|| {
        round_trips_fall();
    });
}

#[test]
fn round_trips_fall_and_come_back_on_an_old_kernel() {
    TOO_OLD.run(|| {
        round_trips_fall();
    });
}

/// A host behind the first terminal, as a phone that shares its network has.
struct Behind(());

impl Behind {
    fn new() -> Self {
        let gateway = name(1);
        for line in [
            "ip netns add behind".to_owned(),
            format!("ip -n behind link add home type veth peer name lan netns {gateway}"),
            format!("ip -n {gateway} addr add 10.10.0.1/24 dev lan"),
            format!("ip -n {gateway} link set lan up"),
            format!("ip -n behind addr add {BEHIND}/24 dev home"),
            "ip -n behind link set home up".to_owned(),
            "ip -n behind route add default via 10.10.0.1".to_owned(),
            format!("ip -n server route add 10.10.0.0/24 via {}", address(1)),
            format!("ip netns exec {gateway} sysctl -qw net.ipv4.ip_forward=1"),
        ] {
            run(&line).ok();
        }
        Self(())
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        let _ = run("ip netns del behind");
    }
}

/// The host behind connects. The first is the server's end.
fn connect() -> (TcpStream, TcpStream) {
    let listener = in_namespace("server", || TcpListener::bind((SERVER, 0)).unwrap());
    let at = listener.local_addr().unwrap();
    let behind = in_namespace("behind", || TcpStream::connect(at).unwrap());
    (listener.accept().unwrap().0, behind)
}

fn forwarded() -> Value {
    let status = in_netns(&name(1), "takt status --output json").json();
    status["crowd"]["bounds"]["forwarded"].clone()
}

/// Every byte arrives as it was sent.
fn assert_is_whole() {
    const BYTES: usize = 4 << 20;
    let (mut server, mut behind) = connect();
    let sent: Vec<u8> = (0..BYTES).map(|at| ((at * at) >> 7) as u8).collect();
    let mut received = Vec::new();
    thread::scope(|scope| {
        let sent = &sent;
        scope.spawn(move || {
            server.write_all(sent).unwrap();
            drop(server);
        });
        behind.read_to_end(&mut received).unwrap();
    });
    assert!(received == sent);
}

fn round_trips_fall() {
    let _terminals = Terminals::new();
    let _behind = Behind::new();
    // The queue behind it holds 600 ms.
    narrow("t1", "air", "20mbit");
    let before = Inventory::take();
    let (server, behind) = connect();
    let old = Upload::between(server, behind, None).unwrap();
    let without = Seen::new(&old);

    let daemon = Terminals::join_as(1, "downloads = true");
    // Its handshake has passed already, and with it the scale of its window.
    thread::sleep(Duration::from_secs(2));
    assert_eq!(forwarded(), 0);
    drop(old);

    let (server, behind) = connect();
    let download = Upload::between(server, behind, None).unwrap();
    let with = Seen::new(&download);
    assert_eq!(forwarded(), 1);
    assert!(with.rtt_us < without.rtt_us / 2, "{with:?} {without:?}");
    let share = with.rate_bytes_ps as f64 / without.rate_bytes_ps as f64;
    assert!(share > 0.9, "{with:?} {without:?}");
    assert_is_whole();

    // taktd is killed: its bounds end by themselves.
    daemon.kill();
    thread::sleep(Duration::from_secs(1));
    assert_eq!(forwarded(), 0);
    assert!(download.comes_to(|download| u64::from(download.rtt_us()) > 2 * with.rtt_us));
    let daemon = Daemon::start_alone(&name(1));
    wait_for(|| forwarded() == 1);
    assert!(download.comes_to(|download| u64::from(download.rtt_us()) < without.rtt_us / 2));
    daemon.end();
    assert_eq!(forwarded(), 0);

    // A policy without it takes its programs away.
    let is_there = || {
        run("ls /sys/fs/bpf/takt-crowd")
            .stdout
            .contains("forwarded")
    };
    assert!(is_there());
    Terminals::join_as(1, "").kill();
    assert!(!is_there());

    Terminals::join_as(1, "downloads = true").kill();
    assert!(is_there());
    in_netns(&name(1), "takt revert").ok();
    download.assert_goes_on();
    before.assert_is_back();
}

//! Rules about owners hold for sockets in other network namespaces, whose packets the host bridges or
//! routes, if the host's own namespace has the policy.

use std::{
    fs::File,
    io::{Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    thread,
};

use nix::sched::{CloneFlags, setns};

use crate::{
    flow::in_namespace,
    machine::{DEFAULT, NEWEST, on_old_kernels},
    owners::{ALICE, as_process, as_user},
    shell::run,
    takt::{apply, assert_no_trace, link, takt},
};

const POLICY: &str = r#"
[link.up0]
rate = "1gbit"

[[link.up0.class]]
name = "program"
match = { app = "player" }

[[link.up0.class]]
name = "person"
match = { user = 1000 }
"#;

/// The world's end of the host's link, in namespace b.
const WORLD: &str = "10.8.0.9";

/// `bridged` is on the same Ethernet as the world, and the host routes for `routed`.
const NETWORK: &str = "
ip link add br0 type bridge
ip link set br0 up
ip addr add 10.8.0.1/24 dev br0
ip link add up0 type veth peer name far0 netns b
ip link set up0 master br0 up
ip -n b link set far0 up
ip -n b addr add 10.8.0.9/24 dev far0
ip -n b route add 10.7.0.0/24 via 10.8.0.1
ip netns add bridged
ip link add eth0 netns bridged type veth peer name port1
ip link set port1 master br0 up
ip -n bridged link set eth0 up
ip -n bridged addr add 10.8.0.2/24 dev eth0
ip netns add routed
ip link add eth0 netns routed type veth peer name port2
ip link set port2 up
ip addr add 10.7.0.1/24 dev port2
ip -n routed link set eth0 up
ip -n routed addr add 10.7.0.2/24 dev eth0
ip -n routed route add default via 10.7.0.1
sysctl -qw net.ipv4.ip_forward=1
";

const CONTAINERS: [(&str, &str); 2] = [("bridged", "10.8.0.2"), ("routed", "10.7.0.2")];

/// Runs it in the namespace that the host started with.
fn in_the_hosts_own_namespace(f: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let host = File::open("/proc/1/ns/net").unwrap();
            setns(host, CloneFlags::CLONE_NEWNET).unwrap();
            f();
        });
        inside.join().expect("no panic in the namespace");
    });
}

/// With the network. Each of its lines is a command.
fn with_containers(f: impl FnOnce() + Send) {
    in_the_hosts_own_namespace(|| {
        for line in NETWORK.trim().lines() {
            run(line).ok();
        }
        f();
        takt("revert").ok();
        assert_no_trace();
        for line in [
            "ip netns del bridged",
            "ip netns del routed",
            "ip link del up0",
            "ip link del br0",
            "sysctl -qw net.ipv4.ip_forward=0",
        ] {
            run(line).ok();
        }
    });
}

/// Packets that a class sends while this is done.
fn sent(class: &str, act: impl FnOnce()) -> u64 {
    let before = link("up0").class(class).sent_packets;
    act();
    link("up0").class(class).sent_packets - before
}

/// A container's end of a connection, and the world's end.
fn connect(netns: &str) -> [TcpStream; 2] {
    let world = in_namespace("b", || TcpListener::bind((WORLD, 0)).unwrap());
    let to = world.local_addr().unwrap();
    let near = in_namespace(netns, || TcpStream::connect(to).unwrap());
    [near, world.accept().unwrap().0]
}

fn accept(netns: &str, address: &str) -> [TcpStream; 2] {
    let near = in_namespace(netns, || TcpListener::bind((address, 0)).unwrap());
    let to = near.local_addr().unwrap();
    let far = in_namespace("b", || TcpStream::connect(to).unwrap());
    [near.accept().unwrap().0, far]
}

/// Packets are sent, and have arrived when it returns.
fn talk([near, far]: &mut [TcpStream; 2]) {
    for _ in 0..10 {
        near.write_all(b"x").unwrap();
        far.read_exact(&mut [0]).unwrap();
    }
}

fn containers_are_recognised(policy: &str) {
    let mut before = as_process("player", || {
        let before = CONTAINERS.map(|(netns, _)| connect(netns));
        apply(policy).ok();
        before
    });
    for ends in &mut before {
        assert!(sent("program", || talk(ends)) >= 10);
    }
    drop(before);
    for (netns, address) in CONTAINERS {
        let connects = || talk(&mut connect(netns));
        let accepts = || talk(&mut accept(netns, address));
        assert!(sent("program", || as_process("player", connects)) >= 10);
        assert!(sent("program", || as_process("player", accepts)) >= 10);
        assert!(sent("person", || as_user(ALICE, connects)) >= 10);
        for class in ["program", "person"] {
            assert_eq!(sent(class, connects), 0, "{netns}");
            assert_eq!(sent(class, accepts), 0, "{netns}");
        }
    }
}

#[test]
fn a_containers_program_and_user_are_recognised() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| with_containers(|| containers_are_recognised(POLICY)));
    }
}

/// On trees.
#[test]
fn a_containers_program_and_user_are_recognised_on_old_kernels() {
    on_old_kernels(|| with_containers(|| containers_are_recognised(POLICY)));
}

/// As said in the limits: datagrams are told apart if they are bridged, and not if they are routed.
#[test]
fn datagrams_that_are_routed_have_no_owner() {
    DEFAULT.run(|| {
        with_containers(|| {
            apply(POLICY).ok();
            let packets = CONTAINERS.map(|(netns, _)| {
                let world = in_namespace("b", || UdpSocket::bind((WORLD, 0)).unwrap());
                let to = world.local_addr().unwrap();
                let near = in_namespace(netns, || UdpSocket::bind("0.0.0.0:0").unwrap());
                let send = || {
                    for _ in 0..10 {
                        near.send_to(b"x", to).unwrap();
                        world.recv(&mut [0]).unwrap();
                    }
                };
                sent("program", || as_process("player", send))
            });
            assert_eq!(packets, [10, 0]);
        });
    });
}

/// Two containers may be connected to the same place from the same port.
#[test]
fn what_cannot_be_told_apart_has_no_owner() {
    DEFAULT.run(|| {
        with_containers(|| {
            run("ip -n routed addr add 10.7.0.3/24 dev eth0").ok();
            apply(POLICY).ok();
            let world = in_namespace("b", || TcpListener::bind((WORLD, 0)).unwrap());
            let to = world.local_addr().unwrap();
            let connect_from = |address: &str| {
                let near = in_namespace("routed", || {
                    use nix::sys::socket::{
                        AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket,
                    };
                    let family = AddressFamily::Inet;
                    let near = socket(family, SockType::Stream, SockFlag::empty(), None).unwrap();
                    let from: SockaddrIn = format!("{address}:4000").parse().unwrap();
                    let to: SockaddrIn = to.to_string().parse().unwrap();
                    let fd = std::os::fd::AsRawFd::as_raw_fd(&near);
                    bind(fd, &from).unwrap();
                    connect(fd, &to).unwrap();
                    TcpStream::from(near)
                });
                [near, world.accept().unwrap().0]
            };
            let [mut one, mut two] =
                as_process("player", || ["10.7.0.2", "10.7.0.3"].map(connect_from));
            assert_eq!(sent("program", || talk(&mut one)), 0);
            assert_eq!(sent("program", || talk(&mut two)), 0);
        });
    });
}

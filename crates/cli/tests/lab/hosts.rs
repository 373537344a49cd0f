//! A gateway divides its line among the hosts behind it, however many flows each of them has.

use std::{
    fs, iter,
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

use nix::sys::socket::{
    setsockopt,
    sockopt::{RcvBufForce, SndBufForce},
};

use crate::{
    flow::{in_far_namespace, in_namespace},
    machine::{DEFAULT, NEWEST},
    shell::run,
    takt::{apply, assert_no_trace, takt},
    wire::Wire,
};

/// On the machine that boots the others.
pub const NFT: &str = "/usr/sbin/nft";

const TWO_LINES: &str = "[link.near1]\nrate = \"8mbit\"\ndownload = { rate = \"8mbit\" }\n";
const PAYLOAD: usize = 1000;
const PORT: u16 = 5001;
/// Of the first host; the second has one.
const FLOWS: usize = 8;
/// Of the second host, in less time than CoDel takes to drop one.
const PACKETS: usize = 40;

/// Two hosts behind this one, 192.168.N.2 and fd4N::2 in namespaces of their own. IPv4 leaves with the
/// address of near1.
struct House {
    wire: Wire,
}

const RULES: &str = "table ip takt-test { chain out { type nat hook postrouting priority srcnat; \
                     oifname \"near1\" masquerade; }; }";

impl House {
    fn new() -> Self {
        let wire = Wire::new(1);
        for n in [1, 2] {
            for line in [
                format!("ip netns add in{n}"),
                format!("ip link add lan{n} type veth peer name eth0 netns in{n}"),
                format!("ip link set lan{n} addrgenmode none up"),
                format!("ip -n in{n} link set eth0 addrgenmode none up"),
                format!("ip addr add 192.168.{n}.1/24 dev lan{n}"),
                format!("ip addr add fd4{n}::1/64 dev lan{n} nodad"),
                format!("ip -n in{n} addr add 192.168.{n}.2/24 dev eth0"),
                format!("ip -n in{n} addr add fd4{n}::2/64 dev eth0 nodad"),
                format!("ip -n in{n} route add default via 192.168.{n}.1"),
                format!("ip -n in{n} route add default via fd4{n}::1"),
                format!("ip -n b route add fd4{n}::/64 via fd01::1"),
            ] {
                run(&line).ok();
            }
        }
        forward("1");
        run(&format!("/add/nft {RULES}")).ok();
        Self { wire }
    }

    /// A host's socket to the far end, with room for all that it sends.
    fn socket(&self, host: u8, v6: bool) -> UdpSocket {
        let (own, far) = if v6 {
            ("[::]:0", format!("[{}]:{PORT}", self.wire.far_v6()))
        } else {
            ("0.0.0.0:0", format!("{}:{PORT}", self.wire.far_v4()))
        };
        let socket = in_namespace(&format!("in{host}"), || UdpSocket::bind(own).unwrap());
        with_room(&socket);
        socket.connect(far).unwrap();
        socket
    }

    fn far(&self, v6: bool) -> UdpSocket {
        let own = if v6 { "[::]" } else { "0.0.0.0" };
        let socket = in_far_namespace(|| UdpSocket::bind(format!("{own}:{PORT}")).unwrap());
        with_room(&socket);
        socket
    }
}

impl Drop for House {
    fn drop(&mut self) {
        forward("0");
        for line in [
            "/add/nft delete table ip takt-test",
            "ip link del lan1",
            "ip link del lan2",
            "ip netns del in1",
            "ip netns del in2",
        ] {
            run(line);
        }
    }
}

fn forward(value: &str) {
    for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
        fs::write(format!("/proc/sys/net/{key}"), value).unwrap();
    }
}

fn with_room(socket: &UdpSocket) {
    setsockopt(socket, SndBufForce, &(8 << 20)).unwrap();
    setsockopt(socket, RcvBufForce, &(8 << 20)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
}

/// The host of each packet that comes. Nothing more comes after a while: of those that wait for longer,
/// some are dropped.
fn arrivals(far: &UdpSocket) -> Vec<u8> {
    let mut packet = [0; PAYLOAD];
    iter::from_fn(|| far.recv(&mut packet).ok().map(|_| packet[0])).collect()
}

/// How many packets of the first host leave by the second's last.
fn sent_beside(house: &House, v6: bool) -> usize {
    let far = house.far(v6);
    let first: Vec<UdpSocket> = (0..FLOWS).map(|_| house.socket(1, v6)).collect();
    let second = house.socket(2, v6);
    thread::scope(|scope| {
        let arrivals = scope.spawn(|| arrivals(&far));
        for _ in 0..PACKETS {
            for socket in &first {
                socket.send(&[1; PAYLOAD]).unwrap();
            }
            second.send(&[2; PAYLOAD]).unwrap();
        }
        let arrivals = arrivals.join().unwrap();
        let last = arrivals.iter().rposition(|host| *host == 2).unwrap();
        arrivals[..last].iter().filter(|host| **host == 1).count()
    })
}

/// How many packets come to the first host by the second's last.
fn received_beside(house: &House, v6: bool) -> usize {
    let far = house.far(v6);
    let first: Vec<UdpSocket> = (0..FLOWS).map(|_| house.socket(1, v6)).collect();
    let second = house.socket(2, v6);
    let mut addresses = Vec::new();
    for socket in first.iter().chain([&second]) {
        socket.send(b"hello").unwrap();
        addresses.push(far.recv_from(&mut [0; PAYLOAD]).unwrap().1);
    }
    let arrivals = |socket: &UdpSocket| -> Vec<Instant> {
        let arrive = || socket.recv(&mut [0; PAYLOAD]).ok().map(|_| Instant::now());
        iter::from_fn(arrive).collect()
    };
    thread::scope(|scope| {
        let receive = |socket| scope.spawn(move || arrivals(socket));
        let to_first: Vec<_> = first.iter().map(receive).collect();
        let to_second = receive(&second);
        for _ in 0..PACKETS {
            for address in &addresses {
                far.send_to(&[0; PAYLOAD], address).unwrap();
            }
        }
        let last = *to_second.join().unwrap().last().unwrap();
        let to_first = to_first.into_iter().flat_map(|one| one.join().unwrap());
        to_first.filter(|at| *at <= last).count()
    })
}

#[track_caller]
fn assert_half(packets: usize, what: &str) {
    println!("{what}: {packets} of the host with {FLOWS} flows, {PACKETS} of the other");
    assert!(packets.abs_diff(PACKETS) <= 4, "{what}: {packets}");
}

#[test]
fn hosts_behind_nat_share_both_directions() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| {
            let house = House::new();
            apply(TWO_LINES).ok();
            for v6 in [false, true] {
                assert_half(sent_beside(&house, v6), "sent");
                assert_half(received_beside(&house, v6), "received");
            }
            // The key says otherwise.
            let by_flow = TWO_LINES.replace(
                "rate = \"8mbit\"\n",
                "rate = \"8mbit\"\nshare = \"flows\"\n",
            );
            apply(&by_flow).ok();
            assert!(sent_beside(&house, false) > 3 * PACKETS);
            assert!(received_beside(&house, false) > 3 * PACKETS);
            takt("revert").ok();
            assert_no_trace();
        });
    }
}

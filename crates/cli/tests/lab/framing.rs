//! Packets leave as the line's framing says, beside CAKE with the same keyword, and are counted so
//! whatever headers the device has.

use std::{
    io::Write as _,
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

use nix::sys::socket::{
    setsockopt,
    sockopt::{RcvBufForce, SndBufForce, UdpGsoSegment},
};

use crate::{
    devices::{datagram, tun},
    flow::{Flow, in_far_namespace},
    machine::{DEFAULT, NEWEST, on_old_kernels},
    shell::run,
    takt::{apply, assert_no_trace, link, takt},
    wire::Wire,
};

const RATE_BPS: f64 = 4e6;
const PORT: u16 = 5001;
const PACKETS: usize = 100;
/// By then the sender is done, the receiver has the processor, and HTB's burst has left.
const FROM: usize = PACKETS / 2;
const DROPS_MOST: usize = 5;
/// What a datagram has beside its payload: UDP's and IP's headers.
const HEADERS: usize = 28;

/// The cells of a datagram with this payload: with 2 bytes of PPP and AAL5's trailer of 8.
fn cells_bytes(payload: usize) -> u64 {
    53 * (payload + HEADERS + 10).div_ceil(48) as u64
}

/// Each datagram with as much payload as a frame takes, on the line's last cell and around it.
const PAYLOADS: [usize; 5] = [10, 11, 100, 1450, 1472];

/// What sends with the framing of a line of PPP over ATM.
fn set_up(contender: &str) {
    let done = match contender {
        "cake" => run(
            "tc qdisc replace dev near1 root cake bandwidth 4mbit besteffort no-split-gso \
             pppoa-vcmux rtt 1s",
        ),
        backend => apply(&format!(
            "[link.near1]\nrate = \"4mbit\"\nframing = \"pppoa-vcmux\"\nbackend = \"{backend}\"\n\
             packets = \"gso\"\n\
             [[link.near1.class]]\nname = \"default\"\nrate = \"4mbit\"\naqm = \"off\"\n"
        )),
    };
    done.ok();
}

fn take_down(contender: &str) {
    match contender {
        "cake" => run("tc qdisc del dev near1 root").ok(),
        _ => takt("revert").ok(),
    };
    assert_no_trace();
}

/// What a packet has taken on the line, by the time from the middle one to the last one.
fn bytes_on_the_line(wire: &Wire, payload: usize, segment: Option<usize>) -> f64 {
    let to = format!("{}:{PORT}", wire.far_v4());
    let receiver = in_far_namespace(|| UdpSocket::bind(&to).unwrap());
    setsockopt(&receiver, RcvBufForce, &(16 << 20)).unwrap();
    receiver
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
    setsockopt(&sender, SndBufForce, &(16 << 20)).unwrap();
    if let Some(segment) = segment {
        setsockopt(&sender, UdpGsoSegment, &i32::try_from(segment).unwrap()).unwrap();
    }
    sender.connect(&to).unwrap();
    let datagrams = segment.map_or(1, |segment| payload.div_ceil(segment));
    let arrive = |_| {
        // CAKE drops one from a queue that stands, which costs nothing on the line.
        receiver.recv(&mut [0; 2000]).ok()?;
        Some(Instant::now())
    };
    let arrivals: Vec<Instant> = thread::scope(|scope| {
        let arrivals = scope.spawn(|| (0..PACKETS * datagrams).map_while(arrive).collect());
        for _ in 0..PACKETS {
            sender.send(&vec![0; payload]).unwrap();
        }
        arrivals.join().unwrap()
    });
    let last = arrivals.len() / datagrams - 1;
    assert!(last + 1 + DROPS_MOST >= PACKETS, "{last} packets came");
    let took = arrivals[last * datagrams] - arrivals[FROM * datagrams];
    took.as_secs_f64() * RATE_BPS / 8.0 / (last - FROM) as f64
}

#[track_caller]
fn assert_near(measured: f64, exact: u64, what: &str) {
    println!("{what}: {measured:.1} bytes on the line, by the framing {exact}");
    assert!(
        (measured / exact as f64 - 1.0).abs() < 0.01,
        "{what}: {measured} instead of {exact}"
    );
}

#[test]
fn packets_leave_at_the_lines_pace_as_with_cake() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| {
            let wire = Wire::new(1);
            for contender in ["takt", "departure", "tree", "cake"] {
                set_up(contender);
                for payload in PAYLOADS {
                    let measured = bytes_on_the_line(&wire, payload, None);
                    let what = format!("{contender}, {payload} bytes");
                    assert_near(measured, cells_bytes(payload), &what);
                }
                take_down(contender);
            }
        });
    }
}

/// Ten full segments and a short one cost what eleven packets do.
#[test]
fn segments_leave_at_the_pace_of_their_frames_as_with_cake() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| {
            let wire = Wire::new(1);
            run("ethtool -K near1 tx on sg on tso on gso on").ok();
            let (segment, last) = (500, 200);
            let exact = 10 * cells_bytes(segment) + cells_bytes(last);
            for contender in ["takt", "departure", "cake"] {
                set_up(contender);
                let measured = bytes_on_the_line(&wire, 10 * segment + last, Some(segment));
                assert_near(measured, exact, contender);
                take_down(contender);
            }
        });
    }
}

/// The line's bytes of the test's own packets, by the link's counters; the kernel sends some as well.
fn counted(name: &str, send: impl FnOnce()) -> u64 {
    let before = link(name).class("its").sent_bytes;
    send();
    link(name).class("its").sent_bytes - before
}

/// Frames of Ethernet, of a VLAN above it, and of a tun, which has no headers.
fn count(backend: &str) {
    let policy = |device: &str| {
        format!(
            "[link.\"{device}\"]\nrate = \"10mbit\"\nframing = \"pppoa-vcmux\"\n\
             backend = \"{backend}\"\ndownload = {{ rate = \"10mbit\", backend = \"{backend}\" }}\n\
             [[link.\"{device}\".class]]\nname = \"its\"\nmatch = {{ proto = \"udp\" }}\n"
        )
    };
    let exact = cells_bytes(11);
    let wire = Wire::new(1);
    apply(&policy("near1")).ok();
    let mut flow = Flow::new(&wire, PORT);
    let sent = counted("near1", || {
        flow.send(10, 11);
        assert_eq!(flow.arrivals().len(), 10);
    });
    assert_eq!(sent, 10 * exact, "{backend}: near1");
    let near = UdpSocket::bind((&*wire.near_v4(), 0)).unwrap();
    let far = in_far_namespace(|| UdpSocket::bind("0.0.0.0:0").unwrap());
    far.connect(near.local_addr().unwrap()).unwrap();
    let received = counted("near1.download", || {
        for _ in 0..10 {
            far.send(&[0; 11]).unwrap();
            near.recv(&mut [0; 100]).unwrap();
        }
    });
    assert_eq!(received, 10 * exact, "{backend}: near1.download");
    takt("revert").ok();

    let mut device = tun("tun7");
    // Nothing but the test's packets.
    run("ip link set tun7 addrgenmode none up").ok();
    run("ip address add 10.77.0.1/24 dev tun7").ok();
    apply(&policy("tun7")).ok();
    let near = UdpSocket::bind("10.77.0.1:5001").unwrap();
    let sent = counted("tun7", || {
        for _ in 0..10 {
            near.send_to(&[0; 11], "10.77.0.2:9").unwrap();
        }
        thread::sleep(Duration::from_millis(100));
    });
    assert_eq!(sent, 10 * exact, "{backend}: tun7");
    let received = counted("tun7.download", || {
        for _ in 0..10 {
            device.write_all(&datagram()).unwrap();
            near.recv(&mut [0; 100]).unwrap();
        }
    });
    // 32 bytes of IP and 10 more are one cell.
    assert_eq!(received, 10 * 53, "{backend}: tun7.download");
    takt("revert").ok();
    assert_no_trace();
}

#[test]
fn bytes_are_counted_from_the_ip_packet_on_every_device() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| ["takt", "tree"].into_iter().for_each(count));
    }
}

#[test]
fn bytes_are_counted_from_the_ip_packet_on_old_kernels() {
    on_old_kernels(|| count("tree"));
}

/// Another framing is another table, while packets wait.
#[test]
fn a_framing_changes_with_the_policy() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let mut flow = Flow::new(&wire, PORT);
        for backend in ["takt", "tree"] {
            for (key, bytes) in [
                ("", 11 + 28 + 14),
                ("framing = \"pppoa-vcmux\"", 2 * 53),
                ("framing = \"docsis\"", 64),
                ("framing = \"pppoe-vdsl2\"", 11 + 28 + 30 + 2),
                ("overhead = 20\nmin_frame = 90\ncells = \"atm\"", 2 * 53),
                ("overhead = 24", 11 + 28 + 14 + 24),
            ] {
                apply(&format!(
                    "[link.near1]\nrate = \"10mbit\"\nbackend = \"{backend}\"\n{key}\n\
                     [[link.near1.class]]\nname = \"its\"\nmatch = {{ proto = \"udp\" }}\n"
                ))
                .ok();
                let sent = counted("near1", || {
                    flow.send(10, 11);
                    assert_eq!(flow.arrivals().len(), 10);
                });
                assert_eq!(sent, 10 * bytes, "{backend}: {key}");
            }
            takt("revert").ok();
            assert_no_trace();
        }
    });
}

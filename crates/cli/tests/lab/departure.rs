//! Packets with departure times leave at them, as under the kernel's fq, and hold up no others.

use std::{
    io::{IoSlice, IoSliceMut, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::fd::AsRawFd,
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        socket::{
            ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg,
            setsockopt,
            sockopt::{ReceiveTimestampns, TxTime},
        },
        time::TimeSpec,
    },
    time::{ClockId, clock_gettime},
};
use serde_json::Value;

use crate::{
    flow::{Flow, in_far_namespace},
    machine::{DEFAULT, NEWEST},
    shell::run,
    takt::{apply, apply_with, link, takt},
    wire::Wire,
};

const POLICY: &str = "[link.near1]\nrate = \"100mbit\"\n";
const MS: u64 = 1_000_000;
const US: u64 = 1000;
const PACKETS: u64 = 50;

fn ns(time: TimeSpec) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

fn now_ns(clock: ClockId) -> u64 {
    ns(clock_gettime(clock).unwrap())
}

/// A sender whose packets have departure times, and their receiver.
struct Stamped {
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Stamped {
    fn new(wire: &Wire, port: u16, clock: ClockId) -> Self {
        let to: SocketAddr = format!("{}:{port}", wire.far_v4()).parse().unwrap();
        let receiver = in_far_namespace(|| UdpSocket::bind(to).unwrap());
        setsockopt(&receiver, ReceiveTimestampns, &true).unwrap();
        let silence = Some(Duration::from_secs(2));
        receiver.set_read_timeout(silence).unwrap();
        let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
        sender.connect(to).unwrap();
        let clockid = clock.as_raw();
        setsockopt(&sender, TxTime, &libc::sock_txtime { clockid, flags: 0 }).unwrap();
        Self { sender, receiver }
    }

    fn send(&self, at_ns: u64) {
        let control = [ControlMessage::TxTime(&at_ns)];
        let data = [IoSlice::new(&[0; 100])];
        let to: Option<&SockaddrStorage> = None;
        sendmsg(
            self.sender.as_raw_fd(),
            &data,
            &control,
            MsgFlags::empty(),
            to,
        )
        .unwrap();
    }

    /// When packets arrived since the last call, in monotonic time; waits until no more come.
    fn arrivals_ns(&self) -> Vec<u64> {
        let mut arrivals = Vec::new();
        let ahead_ns = now_ns(ClockId::CLOCK_REALTIME) - now_ns(ClockId::CLOCK_MONOTONIC);
        loop {
            let mut data = [0; 200];
            let mut control = nix::cmsg_space!(TimeSpec);
            let mut data = [IoSliceMut::new(&mut data)];
            let received = recvmsg::<()>(
                self.receiver.as_raw_fd(),
                &mut data,
                Some(&mut control),
                MsgFlags::empty(),
            );
            let message = match received {
                Ok(message) => message,
                Err(nix::Error::EAGAIN) => return arrivals,
                Err(error) => panic!("receiving: {error}"),
            };
            let stamp = message.cmsgs().unwrap().find_map(|control| match control {
                ControlMessageOwned::ScmTimestampns(time) => Some(ns(time)),
                _ => None,
            });
            arrivals.push(stamp.expect("a time of arrival") - ahead_ns);
        }
    }

    /// Sends packets 1 ms apart, off the kernel's ticks. How far off the worst one arrives.
    fn worst_error_ns(&self, clock: ClockId) -> u64 {
        let first_ns = now_ns(clock) + until_off_ticks_ns();
        let offset_ns = now_ns(clock) as i64 - now_ns(ClockId::CLOCK_MONOTONIC) as i64;
        let stamps: Vec<u64> = (0..PACKETS).map(|n| first_ns + n * MS).collect();
        for stamp_ns in &stamps {
            self.send(*stamp_ns);
        }
        let arrivals = self.arrivals_ns();
        assert_eq!(arrivals.len(), stamps.len());
        let errors = stamps.iter().zip(&arrivals).map(|(stamp_ns, arrival_ns)| {
            let due_ns = (*stamp_ns as i64 - offset_ns) as u64;
            assert!(
                *arrival_ns + US >= due_ns,
                "{arrival_ns} is before {due_ns}"
            );
            arrival_ns.abs_diff(due_ns)
        });
        errors.max().expect("there are some")
    }
}

/// How long until it is half a millisecond off the kernel's ticks, which hold timers up.
fn until_off_ticks_ns() -> u64 {
    let now_ns = now_ns(ClockId::CLOCK_MONOTONIC);
    (now_ns + 5 * MS).next_multiple_of(MS) + MS / 2 - now_ns
}

fn departures() -> Value {
    takt("--output json status").ok();
    takt("--output json status").json()["links"][0]["departures"].clone()
}

/// The bar: within fq's own error and a microsecond.
fn leave_at_their_times(wire: &Wire) {
    let stamped = Stamped::new(wire, 5001, ClockId::CLOCK_MONOTONIC);
    run("tc qdisc replace dev near1 root fq").ok();
    let fq_ns = stamped.worst_error_ns(ClockId::CLOCK_MONOTONIC);
    apply_with("--replace", POLICY).ok();
    let takt_ns = stamped.worst_error_ns(ClockId::CLOCK_MONOTONIC);
    println!("worst error: fq {fq_ns} ns, takt {takt_ns} ns");
    assert!(takt_ns <= fq_ns + US, "fq {fq_ns} ns, takt {takt_ns} ns");
    assert_eq!(departures()["delayed_packets"], PACKETS);
    assert_eq!(departures()["waiting_packets"], 0);
    assert!(link("near1").classes.iter().all(|class| class.adds_up()));
}

#[test]
fn are_kept() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| leave_at_their_times(&Wire::new(1)));
    }
}

#[test]
fn of_another_clock_are_converted() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let clock = ClockId::CLOCK_TAI;
        let error_ns = Stamped::new(&wire, 5001, clock).worst_error_ns(clock);
        assert!(error_ns < 100 * US, "{error_ns} ns");
    });
}

#[test]
fn hold_up_no_other_packet() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        // All flows of this class share a queue.
        let class = "[[link.near1.class]]\nname = \"video\"\nrate = \"10mbit\"\naqm = \"off\"\n\
                     match = { proto = \"udp\" }\n";
        apply(&format!("{POLICY}{class}")).ok();
        let stamped = Stamped::new(&wire, 5001, ClockId::CLOCK_MONOTONIC);
        stamped.send(now_ns(ClockId::CLOCK_MONOTONIC) + 5000 * MS);
        let mut flow = Flow::new(&wire, 5002);
        flow.send(20, 100);
        assert_eq!(flow.arrivals().len(), 20);
        assert_eq!(departures()["waiting_packets"], 1);
        // What waits goes with the device, and is counted.
        run("ip link set near1 down").ok();
        assert_eq!(departures()["waiting_packets"], 0);
        let end = link("near1");
        assert_eq!(end.class("video").flushed_packets, 1);
        assert!(end.class("video").adds_up(), "{end:#?}");
        assert_eq!(end.queued_packets, 0);
    });
}

#[test]
fn have_a_horizon() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let stamped = Stamped::new(&wire, 5001, ClockId::CLOCK_MONOTONIC);
        apply(&format!("{POLICY}horizon = \"100ms\"\n")).ok();
        let far_ns = || now_ns(ClockId::CLOCK_MONOTONIC) + 10_000 * MS;
        stamped.send(far_ns());
        assert!(stamped.arrivals_ns().is_empty());
        let dropped = link("near1");
        assert_eq!(dropped.sum(|class| class.dropped_packets), 1);
        apply(&format!(
            "{POLICY}horizon = \"100ms\"\nbeyond_horizon = \"cap\"\n"
        ))
        .ok();
        let before_ns = now_ns(ClockId::CLOCK_MONOTONIC);
        stamped.send(far_ns());
        let arrivals = stamped.arrivals_ns();
        assert_eq!(arrivals.len(), 1);
        assert!((100..110).contains(&((arrivals[0] - before_ns) / MS)));
        assert_eq!(departures()["beyond_horizon_packets"], 2);
    });
}

fn limit(socket: &impl AsRawFd, bytes_per_s: u32) {
    // SAFETY: the kernel reads one u32.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const bytes_per_s).cast(),
            4,
        )
    };
    assert_eq!(done, 0);
}

#[test]
fn follow_from_a_sockets_pacing_rate() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(POLICY).ok();
        let stamped = Stamped::new(&wire, 5001, ClockId::CLOCK_MONOTONIC);
        // 142 bytes on the wire. All are sent before the second is due, so that none waits for a
        // system call.
        let apart_ns = 5 * MS;
        limit(&stamped.sender, 28_400);
        thread::sleep(Duration::from_nanos(until_off_ticks_ns()));
        for _ in 0..PACKETS {
            stamped.sender.send(&[0; 100]).unwrap();
        }
        let arrivals = stamped.arrivals_ns();
        let worst_ns = (0..PACKETS)
            .map(|n| (arrivals[n as usize] - arrivals[0]).abs_diff(n * apart_ns))
            .max();
        println!("worst error of a pacing rate: {worst_ns:?} ns");
        assert!(worst_ns.unwrap() < 20 * US, "{arrivals:?}");
    });
}

/// fq made the kernel leave pacing to it, so TCP only stamps its packets.
#[test]
fn are_kept_for_connections_that_fq_had() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        run("tc qdisc replace dev near1 root fq").ok();
        let to = format!("{}:5001", wire.far_v4());
        let listener = in_far_namespace(|| TcpListener::bind(&to).unwrap());
        thread::scope(|scope| {
            let receiving = scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
            });
            let mut stream = TcpStream::connect(&to).unwrap();
            limit(&stream, 125_000);
            stream.write_all(&[0; 20_000]).unwrap();
            apply_with("--replace", POLICY).ok();
            let started = Instant::now();
            stream.write_all(&[0; 250_000]).unwrap();
            drop(stream);
            receiving.join().unwrap();
            let took = started.elapsed();
            assert!((1800..2500).contains(&took.as_millis()), "{took:?}");
        });
        assert!(departures()["delayed_packets"].as_u64() > Some(10));
    });
}

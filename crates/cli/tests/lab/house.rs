//! Interactions of threads on the beat, paced packets, the background and stations on one host
//! (docs/interactions.md).

use std::{
    fs,
    io::IoSliceMut,
    net::UdpSocket,
    os::fd::AsRawFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use nix::sys::{
    socket::{
        ControlMessageOwned, MsgFlags, TimestampingFlag, Timestamps, recvmsg, setsockopt,
        sockopt::{RcvBufForce, ReceiveTimestampns, Timestamping},
    },
    time::TimeSpec,
};

use crate::{
    air::{AIR, Air, table, weigh},
    flow::{Flow, in_far_namespace},
    machine::DEFAULT,
    metronome::{MS, Shell, US, assert_on_beat, assert_stands, member, sleep_ms, spin, task},
    reporting::{Daemon, STATION},
    takt::{apply, link, takt},
    wire::Wire,
};

/// A frame of 1,042 bytes takes 83 us.
const STREAM: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "stream"
rate = "8.336mbit"
priority = 1
match = { proto = "udp", dst_port = 5004 }

[[link.near1.class]]
name = "bulk"
priority = "background"
gate = "open"
match = { proto = "udp", dst_port = 9 }

[[task]]
name = "sender"
period = "10ms"
budget = "4ms"
offset = "1ms"
"#;
const PAYLOAD_BYTES: usize = 1000;
/// Room for all packets of a test.
const BUFFER_BYTES: usize = 16 << 20;
const FRAME_NS: u64 = 83_360;
/// The most that a thread switch or an interrupt may add.
const SLACK_NS: u64 = 50 * US;
const JOBS: u64 = 100;

fn to_ns(stamp: TimeSpec) -> u64 {
    stamp.tv_sec() as u64 * 1_000_000_000 + stamp.tv_nsec() as u64
}

/// Have the kernel stamp a socket's packets as they enter the qdisc. A kernel thread that preempts
/// the sender before that delays the packet, and is not what these tests are about.
fn stamp_entries(socket: &UdpSocket) {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY
        | TimestampingFlag::from_bits_retain(libc::SOF_TIMESTAMPING_TX_SCHED);
    setsockopt(socket, Timestamping, &flags).unwrap();
}

/// The times at which packets that were just sent entered the qdisc.
fn entries_ns(socket: &UdpSocket) -> Vec<u64> {
    let mut stamps_ns = Vec::new();
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let mut space = nix::cmsg_space!(Timestamps, libc::sock_extended_err, libc::sockaddr_in);
    loop {
        let space = Some(space.as_mut_slice());
        let Ok(message) = recvmsg::<()>(socket.as_raw_fd(), &mut [], space, flags) else {
            return stamps_ns;
        };
        for told in message.cmsgs().unwrap() {
            if let ControlMessageOwned::ScmTimestampsns(at) = told {
                stamps_ns.push(to_ns(at.system));
            }
        }
    }
}

/// The times at which packets came out at the far end of a wire, which are those at which they left
/// this one.
struct Departures(UdpSocket);

impl Departures {
    fn new(wire: &Wire) -> Self {
        let to = format!("{}:5004", wire.far_v4());
        let socket = in_far_namespace(|| UdpSocket::bind(to).unwrap());
        setsockopt(&socket, ReceiveTimestampns, &true).unwrap();
        setsockopt(&socket, RcvBufForce, &BUFFER_BYTES).unwrap();
        // The kernel enables time stamps with a delay.
        sleep_ms(50);
        socket
            .set_read_timeout(Some(Duration::from_secs(1)))
            .unwrap();
        Self(socket)
    }

    /// The times of all packets, until no more come.
    fn all_ns(&self) -> Vec<u64> {
        let mut stamps_ns = Vec::new();
        let mut payload = [0; 2000];
        let mut space = nix::cmsg_space!(TimeSpec);
        loop {
            let mut pieces = [IoSliceMut::new(&mut payload)];
            let space = Some(space.as_mut_slice());
            let received = recvmsg::<()>(self.0.as_raw_fd(), &mut pieces, space, MsgFlags::empty());
            let Ok(message) = received else {
                return stamps_ns;
            };
            for told in message.cmsgs().unwrap() {
                if let ControlMessageOwned::ScmTimestampns(at) = told {
                    stamps_ns.push(to_ns(at));
                }
            }
        }
    }
}

/// A thread on the beat that sends so many packets in every job; returns the departures, when jobs
/// started, and when their packets entered the qdisc.
fn sender(wire: &Wire, packets: usize, then_spin_ns: u64) -> (Departures, Vec<u64>, Vec<u64>) {
    let departures = Departures::new(wire);
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(format!("{}:5004", wire.far_v4())).unwrap();
    stamp_entries(&socket);
    let payload = [0; PAYLOAD_BYTES];
    let (told, entered_ns) = std::sync::mpsc::channel();
    let thread = member("sender", JOBS, move |_| {
        for _ in 0..packets {
            socket.send(&payload).unwrap();
        }
        for entered_ns in entries_ns(&socket) {
            told.send(entered_ns).unwrap();
        }
        spin(then_spin_ns);
    });
    let starts_ns = thread.join().unwrap();
    let entered_ns = entered_ns.iter().collect();
    (departures, starts_ns, entered_ns)
}

/// The byte clock and the time-slot table both count from CLOCK_MONOTONIC, and a packet that
/// need not wait leaves in its sender's own system call.
#[test]
fn what_a_beat_sends_leaves_in_its_beat() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(STREAM).ok();
        let busy = Shell::busy("busy");
        let (departures, starts_ns, entered_ns) = sender(&wire, 1, 0);
        assert_on_beat(&starts_ns, 10 * MS, MS);
        let left_ns = departures.all_ns();
        assert_eq!(left_ns.len() as u64, JOBS);
        assert_eq!(entered_ns.len() as u64, JOBS);
        for (left_ns, entered_ns) in left_ns.iter().zip(&entered_ns) {
            let after_ns = left_ns - entered_ns;
            assert!(after_ns <= SLACK_NS, "{after_ns} ns after it was sent");
        }
        drop(busy);
    });
}

/// A packet waits for the frame in transmission, and for no other.
#[test]
fn the_background_delays_a_beats_packet_by_one_frame() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(STREAM).ok();
        let mut flood = Flow::new(&wire, 9);
        // More than leaves while the test runs; the test does not wait for dropped ones.
        flood.send(900, PAYLOAD_BYTES);
        let more = thread::spawn(move || {
            for _ in 0..100 {
                flood.send(120, PAYLOAD_BYTES);
                sleep_ms(10);
            }
        });
        let (departures, starts_ns, entered_ns) = sender(&wire, 1, 0);
        more.join().unwrap();
        assert_on_beat(&starts_ns, 10 * MS, MS);
        let left_ns = departures.all_ns();
        assert_eq!(left_ns.len() as u64, JOBS);
        assert_eq!(entered_ns.len() as u64, JOBS);
        let waited_ns = left_ns
            .iter()
            .zip(&entered_ns)
            .map(|(left, entered)| left - entered);
        let most_ns = waited_ns.max().unwrap();
        assert!(
            (FRAME_NS / 2..FRAME_NS + SLACK_NS).contains(&most_ns),
            "{most_ns} ns"
        );
    });
}

/// Two in a beat leave a millisecond apart, though the thread has the processor all the while:
/// the timer that paces is an interrupt, and goes before beats.
#[test]
fn a_beat_does_not_delay_what_is_paced() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        apply(STREAM).ok();
        let (departures, starts_ns, _) = sender(&wire, 2, 3 * MS);
        assert_on_beat(&starts_ns, 10 * MS, MS);
        let left_ns = departures.all_ns();
        assert_eq!(left_ns.len() as u64, 2 * JOBS);
        for pair in left_ns.chunks(2) {
            let apart_ns = pair[1] - pair[0];
            assert!(apart_ns.abs_diff(MS) <= SLACK_NS, "{apart_ns} ns apart");
        }
        // And it was not charged to the thread's budget.
        assert_eq!(task(0).stats.overruns, 0);
    });
}

/// To the gate a thread on the beat is as important as its nice value.
#[test]
fn the_gate_is_closed_while_a_beat_runs() {
    DEFAULT.run(|| {
        const PACKETS: u32 = 30;
        let wire = Wire::new(1);
        let policy = STREAM
            .replace("100mbit", "2mbit")
            .replace("8.336mbit", "1mbit")
            .replace("gate = \"open\"\n", "");
        apply(&policy).ok();
        let beat = member("sender", 50, |_| spin(3 * MS));
        let mut flow = Flow::new(&wire, 9);
        thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: a plain system call, for this thread alone.
                let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
                assert_eq!(done, 0);
                flow.send(PACKETS, PAYLOAD_BYTES);
            });
        });
        beat.join().unwrap();
        assert_eq!(flow.arrivals(), (0..PACKETS).collect::<Vec<_>>());
        let background = link("near1").background().clone();
        assert!(background.held_by_tasks_ns > 3 * MS, "{background:?}");
    });
}

/// Two thirds of the processor belong to a beat that never yields, and another thread wants the
/// rest.
#[test]
fn taktd_keeps_up_beside_beats() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        fs::write("/lab/snr.txt", format!("{STATION} 5\n")).unwrap();
        apply(
            "[link.near1]\nrate = \"100mbit\"\n\
             [radio]\nsource = \"file\"\nfile = \"snr.txt\"\ninterval = \"200ms\"\n\
             [[task]]\nname = \"hog\"\nperiod = \"30ms\"\nbudget = \"20ms\"\n",
        )
        .ok();
        let busy = Shell::busy("busy");
        let hog = member("hog", 300, |_| spin(25 * MS));
        let daemon = Daemon::start();
        for _ in 0..8 {
            sleep_ms(1000);
        }
        let status = takt("status --output json").json();
        let radio = &status["links"][0]["radio"];
        let heard = radio["heard"]["heard_samples"].as_u64().unwrap_or_default();
        assert!(heard >= 20, "{radio}");
        let missed = radio["heard"]["missed_samples"].as_u64();
        assert_eq!(missed, Some(0), "{radio}");
        drop(busy);
        hog.join().unwrap();
        daemon.end();
        assert_stands();
    });
}

/// Packets throttled by weight fill the sender's buffer: a beat that must not block uses a
/// non-blocking socket.
#[test]
fn a_beat_that_may_not_wait_is_told_of_a_held_station() {
    DEFAULT.run(|| {
        let policy =
            format!("{AIR}[[task]]\nname = \"sender\"\nperiod = \"10ms\"\nbudget = \"2ms\"\n");
        let air = Air::new(&policy);
        let mut stations = table();
        weigh(&mut stations, &[0, 1_000_000, 1_000_000]);
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect("10.1.0.11:9").unwrap();
        socket.set_nonblocking(true).unwrap();
        let refused = Arc::new(AtomicBool::new(false));
        let told = refused.clone();
        let thread = member("sender", 150, move |_| {
            for _ in 0..4 {
                let sent = socket.send(&[0; PAYLOAD_BYTES]);
                told.fetch_or(sent.is_err(), SeqCst);
            }
        });
        while !thread.is_finished() {
            stations.refresh();
            sleep_ms(500);
        }
        let starts_ns = thread.join().unwrap();
        assert!(refused.load(SeqCst), "there was room for all of it");
        for pair in starts_ns[1..].windows(2) {
            assert_eq!(pair[1] / (10 * MS), pair[0] / (10 * MS) + 1);
        }
        assert_eq!(stations.list().iter().filter(|each| each.held).count(), 1);
        drop(air);
    });
}

//! Downloads that a terminal forwards, `algo/forwarded.h`: over a path with a queue before the
//! terminal, and for any segments.

use std::collections::VecDeque;

use proptest::prelude::*;
use takt_algo::{
    Group, WindowTerms,
    sys::{self, takt_forwarded, takt_segment, takt_window_sample},
};

const ACK: u16 = 0x010;
const SYN: u16 = 0x002;
const FIN: u16 = 0x001;
const RST: u16 = 0x004;
const PERIOD_NS: u64 = 200_000_000;
const MS: u64 = 1_000_000;
const SCALE: u8 = 7;

fn opening() -> takt_segment {
    takt_segment {
        flags: SYN,
        mss_bytes: 1460,
        scale: SCALE,
        has_scale: 1,
        has_stamps: 1,
        stamp: 1,
        ..takt_segment::default()
    }
}

/// A connection that the host behind has opened.
struct Flow(takt_forwarded);

/// The first, if it is due.
fn pop_due<T>(queue: &mut VecDeque<T>, is_due: impl Fn(&T) -> bool) -> Option<T> {
    queue
        .front()
        .is_some_and(is_due)
        .then(|| queue.pop_front())?
}

impl Flow {
    fn begin(segment: &takt_segment, now_ns: u64) -> Option<Self> {
        let mut flow = takt_forwarded::default();
        // SAFETY: valid structs; every index in algo/ is masked.
        let begun = unsafe { sys::takt_forwarded_begin(&mut flow, segment, now_ns) };
        (begun != 0).then_some(Self(flow))
    }

    fn arrive(&mut self, segment: &takt_segment, now_ns: u64) {
        // SAFETY: as above.
        unsafe { sys::takt_forwarded_in(&mut self.0, segment, now_ns) }
    }

    fn leave(&mut self, segment: &takt_segment, now_ns: u64) -> u32 {
        // SAFETY: as above.
        unsafe { sys::takt_forwarded_out(&mut self.0, segment, now_ns) }
    }

    fn ends(&mut self, flags: u16, direction: u32) -> bool {
        let segment = takt_segment {
            flags,
            ..takt_segment::default()
        };
        // SAFETY: as above.
        unsafe { sys::takt_forwarded_ends(&mut self.0, &segment, direction) != 0 }
    }

    /// A period is over; this terminal has no neighbours.
    fn pass(&mut self, now_ns: u64) -> bool {
        let mut sample = takt_window_sample {
            own_flows: 1,
            ..takt_window_sample::default()
        };
        let (terms, group) = (WindowTerms::default(), Group::default());
        // SAFETY: as above.
        unsafe {
            sys::takt_forwarded_update(
                &mut self.0,
                &terms.params(),
                &group.sum(),
                PERIOD_NS,
                now_ns,
                &mut sample,
            ) != 0
        }
    }
}

/// A server that always has data, as much as the window allows, in steps of a millisecond. Its
/// segments wait for their turn at an access point that carries one each `turn_ns`; the host
/// behind answers each.
struct Path {
    flow: Flow,
    turn_ns: u64,
    air_ns: u64,
    behind_ns: u64,
    /// The terminal behind offers this much.
    window: u16,
    free_ns: u64,
    sent: u32,
    edge: u32,
    /// When they reach the terminal: time and timestamps.
    data: VecDeque<(u64, u32, u32)>,
    behind: VecDeque<(u64, u32)>,
    /// When they reach the server.
    acks: VecDeque<(u64, takt_segment)>,
    acked: u32,
    echo: u32,
    waits_ns: Vec<u64>,
    cuts: u32,
}

const SEGMENT: u32 = 1448;

impl Path {
    fn new(air_ms: u64, behind_ms: u64, rate_bps: u64, window: u16) -> Self {
        let flow = Flow::begin(&opening(), 0).unwrap();
        let mut path = Self {
            flow,
            turn_ns: u64::from(SEGMENT) * 8 * 1_000_000_000 / rate_bps,
            air_ns: air_ms * MS,
            behind_ns: behind_ms * MS,
            window,
            free_ns: 0,
            sent: 0,
            edge: 10 * SEGMENT,
            data: VecDeque::new(),
            behind: VecDeque::new(),
            acks: VecDeque::new(),
            acked: 0,
            echo: 1,
            waits_ns: Vec::new(),
            cuts: 0,
        };
        let answer = takt_segment {
            flags: SYN | ACK,
            echo: 1,
            ..opening()
        };
        path.flow.arrive(&answer, path.air_ns);
        path
    }

    fn run(&mut self, from_ms: u64, until_ms: u64, has_taktd: bool) {
        for now_ns in (from_ms..until_ms).map(|ms| ms * MS) {
            self.server(now_ns);
            self.terminal(now_ns);
            if now_ns % PERIOD_NS == 0 && has_taktd && self.flow.pass(now_ns) {
                self.cuts += 1;
            }
        }
    }

    fn server(&mut self, now_ns: u64) {
        while let Some((_, ack)) = pop_due(&mut self.acks, |ack| ack.0 <= now_ns) {
            let edge = ack.ack.wrapping_add(u32::from(ack.window) << SCALE);
            assert!(
                edge.wrapping_sub(self.edge) as i32 >= 0,
                "it takes back what it allowed"
            );
            (self.edge, self.echo) = (edge, ack.stamp);
        }
        while self.edge.wrapping_sub(self.sent) as i32 >= SEGMENT as i32 {
            self.free_ns = self.free_ns.max(now_ns) + self.turn_ns;
            self.waits_ns.push(self.free_ns - now_ns);
            let due_ns = self.free_ns + self.air_ns / 2;
            let stamp = (now_ns / MS) as u32 + 1;
            self.data.push_back((due_ns, stamp, self.echo));
            self.sent = self.sent.wrapping_add(SEGMENT);
        }
    }

    fn terminal(&mut self, now_ns: u64) {
        while let Some((due_ns, stamp, echo)) = pop_due(&mut self.data, |data| data.0 <= now_ns) {
            let data = takt_segment {
                flags: ACK,
                bytes: SEGMENT,
                has_stamps: 1,
                stamp,
                echo,
                ..takt_segment::default()
            };
            self.flow.arrive(&data, due_ns);
            self.behind.push_back((due_ns + self.behind_ns, stamp));
        }
        while let Some((due_ns, echo)) = pop_due(&mut self.behind, |data| data.0 <= now_ns) {
            self.acked = self.acked.wrapping_add(SEGMENT);
            let mut ack = takt_segment {
                flags: ACK,
                window: self.window,
                has_stamps: 1,
                ack: self.acked,
                stamp: (due_ns / MS) as u32 + 1,
                echo,
                ..takt_segment::default()
            };
            ack.window = self.flow.leave(&ack, due_ns) as u16;
            assert!(ack.window <= self.window, "it raises a window");
            self.acks.push_back((due_ns + self.air_ns / 2, ack));
        }
    }

    /// The mean wait in the queue, and the throughput in segments per second, of some time.
    fn measure(&mut self, from_ms: u64, until_ms: u64, has_taktd: bool) -> (u64, u64) {
        self.waits_ns.clear();
        let acked = self.acked;
        self.run(from_ms, until_ms, has_taktd);
        let wait_ns = self.waits_ns.iter().sum::<u64>() / self.waits_ns.len() as u64;
        let segments = self.acked.wrapping_sub(acked) / SEGMENT;
        (
            wait_ns / 1000,
            u64::from(segments) * 1000 / (until_ms - from_ms),
        )
    }
}

/// 20 Mbit/s are 1726 segments a second. The terminal behind offers 512 KiB.
#[test]
fn the_queue_before_the_terminal_empties_and_the_rate_stays() {
    for behind_ms in [0, 3, 40] {
        let mut path = Path::new(32, behind_ms, 20_000_000, 4096);
        path.run(0, 2000, false);
        let (without_us, rate) = path.measure(2000, 4000, false);
        assert!(without_us > 100_000, "{without_us}");
        assert!(rate > 1700, "{rate}");

        path.run(4000, 9000, true);
        let (wait_us, rate) = path.measure(9000, 12_000, true);
        assert!(wait_us < 10_000, "{behind_ms} ms behind: {wait_us}");
        assert!(rate > 1650, "{behind_ms} ms behind: {rate}");
        assert!(path.cuts > 10);

        // taktd is gone.
        path.run(12_000, 15_000, false);
        let (wait_us, _) = path.measure(15_000, 17_000, false);
        assert!(wait_us > 100_000, "{wait_us}");
    }
}

#[test]
fn signed_segments_and_those_without_timestamps_are_left_alone() {
    let signed = takt_segment {
        is_signed: 1,
        ..opening()
    };
    let plain = takt_segment {
        has_stamps: 0,
        ..opening()
    };
    assert!(Flow::begin(&signed, 0).is_none());
    assert!(Flow::begin(&plain, 0).is_none());
}

/// Bounded to a few segments.
fn bounded(flow: &mut Flow, bytes: u64) {
    flow.0.bound_bytes = bytes;
    flow.0.until_ns = 1000 * MS;
}

fn ack(number: u32, window: u16) -> takt_segment {
    takt_segment {
        flags: ACK,
        ack: number,
        window,
        ..takt_segment::default()
    }
}

#[test]
fn a_peer_that_does_not_scale_has_windows_in_bytes() {
    let mut flow = Flow::begin(&opening(), 0).unwrap();
    let answer = takt_segment {
        has_scale: 0,
        scale: 0,
        flags: SYN | ACK,
        ..opening()
    };
    flow.arrive(&answer, MS);
    bounded(&mut flow, 3000);
    assert_eq!(flow.leave(&ack(1, 60_000), 2 * MS), 3000);
}

#[test]
fn a_window_is_not_taken_back() {
    let mut flow = Flow::begin(&opening(), 0).unwrap();
    assert_eq!(flow.leave(&ack(1000, 100), MS), 100);
    bounded(&mut flow, 1280);
    // Of 12,800 bytes 12,672 are left, then 10 units, and never more than it offers.
    assert_eq!(flow.leave(&ack(1128, 100), 2 * MS), 99);
    assert_eq!(flow.leave(&ack(13_800, 100), 3 * MS), 10);
    assert_eq!(flow.leave(&ack(13_928, 3), 4 * MS), 3);
}

#[test]
fn an_old_bound_opens_with_what_is_acknowledged() {
    let mut flow = Flow::begin(&opening(), 0).unwrap();
    bounded(&mut flow, 1280);
    assert_eq!(flow.leave(&ack(1280, 1000), MS), 10);
    // Nothing was acknowledged; then all of a window, and again.
    assert_eq!(flow.leave(&ack(1280, 1000), 1000 * MS), 10);
    assert_eq!(flow.leave(&ack(2560, 1000), 1001 * MS), 20);
    assert_eq!(flow.leave(&ack(5120, 1000), 1002 * MS), 40);
    // It offers less, and no more of it is left.
    assert_eq!(flow.leave(&ack(5120, 30), 1003 * MS), 30);
    assert_eq!(flow.leave(&ack(5120, 1000), 1004 * MS), 1000);
}

#[test]
fn a_window_that_was_closed_opens_again() {
    let mut flow = Flow::begin(&opening(), 0).unwrap();
    bounded(&mut flow, 1280);
    assert_eq!(flow.leave(&ack(1000, 0), MS), 0);
    assert_eq!(flow.leave(&ack(1000, 500), 2 * MS), 10);
}

#[test]
fn a_connection_ends_with_both_directions_or_at_once() {
    let mut flow = Flow::begin(&opening(), 0).unwrap();
    assert!(!flow.ends(ACK | FIN, 1));
    assert!(!flow.ends(ACK | FIN, 1));
    assert!(!flow.ends(ACK, 0));
    assert!(flow.ends(ACK | FIN, 0));
    let mut flow = Flow::begin(&opening(), 0).unwrap();
    assert!(flow.ends(RST, 0));
}

proptest! {
    /// Whatever passes: no window is raised, and none is cut below two segments while a bound is
    /// computed.
    #[test]
    fn windows_are_cut_within_limits(
        (mss_bytes, scale) in (1..9000u16, any::<u8>()),
        seen in prop::collection::vec(
            (any::<bool>(), any::<[u32; 4]>(), any::<u16>(), any::<u16>(), 0..400u64),
            1..60,
        ),
    ) {
        let opening = takt_segment { mss_bytes, scale, ..opening() };
        let mut flow = Flow::begin(&opening, 1).unwrap();
        let mut now_ns = 1;
        for (is_out, [ack, bytes, stamp, echo], window, flags, later_ms) in seen {
            now_ns += later_ms * MS;
            flow.pass(now_ns);
            let segment = takt_segment {
                ack, bytes, stamp, echo, window, flags: flags & 0xfff, has_stamps: 1,
                ..takt_segment::default()
            };
            if !is_out {
                flow.arrive(&segment, now_ns);
                continue;
            }
            let left = flow.leave(&segment, now_ns);
            prop_assert!(left <= u32::from(window));
            let bytes = u64::from(left) << flow.0.scale;
            prop_assert!(left == u32::from(window) || bytes >= 2 * u64::from(mss_bytes));
        }
    }
}

//! The receiver: what it has, what it acknowledges and when, how much it allows, and the round
//! trips that it measures.

use std::ops::Range;

const DELAYED_ACK_NS: u64 = 40_000_000;
/// Linux acknowledges the first segments at once, so that slow start is not held up.
const QUICK_ACKS: u32 = 16;

/// An acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ack {
    /// The first missing segment.
    pub next: u64,
    /// Segments received beyond that, in order.
    pub beyond: Vec<Range<u64>>,
    /// The first segment that the advertised window does not allow.
    pub limit: u64,
    /// Its timestamp (RFC 7323), in ms.
    pub stamp_ms: u64,
    /// It tells of a congestion mark (ECE, RFC 3168).
    pub echoes: bool,
}

const NS_PER_MS: u64 = 1_000_000;
const US_PER_MS: u64 = 1000;
const UNLIMITED: u64 = u64::MAX / 2;
/// Linux's first window of 64 KiB.
const FIRST_WINDOW: u64 = 44;
/// What Linux adds to twice what was taken.
const SPACE_MARGIN: u64 = 16;

/// What the application took in the last measured round trip, and in the present one.
#[derive(Debug, Default)]
struct Space {
    taken: u64,
    since_ns: u64,
    next: u64,
}

/// How the sender is told of congestion marks.
#[derive(Debug, Clone, Copy)]
enum Echo {
    /// By the next acknowledgement. RFC 3168 repeats that until the sender has answered, which
    /// makes no difference to a sender that answers once in a round trip.
    Once { is_due: bool },
    /// By each acknowledgement, as the segments that it is about are marked (RFC 8257, section
    /// 3.2).
    Each { is_marked: bool },
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    next: u64,
    beyond: Vec<Range<u64>>,
    unacknowledged: u32,
    quick_acks: u32,
    limit: u64,
    echo_ms: Option<u64>,
    /// Eight times the smoothed round trip; 0: none was measured.
    rtt_sum_us: u64,
    window: u64,
    space: Space,
    echo: Echo,
    /// The bound on the advertised window, in segments.
    pub clamp: u64,
    /// When an acknowledgement is due at the latest.
    pub delayed_until_ns: Option<u64>,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            next: 0,
            beyond: Vec::new(),
            unacknowledged: 0,
            quick_acks: QUICK_ACKS,
            limit: 0,
            echo_ms: None,
            rtt_sum_us: 0,
            window: UNLIMITED,
            space: Space::default(),
            echo: Echo::Once { is_due: false },
            clamp: UNLIMITED,
            delayed_until_ns: None,
        }
    }
}

impl Receiver {
    /// Its window follows what arrives in a round trip; by default there is none.
    pub fn of_terminal() -> Self {
        Self {
            window: FIRST_WINDOW,
            ..Self::default()
        }
    }

    /// It tells the sender how many segments were marked.
    pub fn of_dctcp() -> Self {
        Self {
            echo: Echo::Each { is_marked: false },
            ..Self::default()
        }
    }

    /// As Linux sizes a buffer (`tcp_rcv_space_adjust`): once a round trip, if more arrived than
    /// ever before, twice as much, and more by twice its growth.
    fn size(&mut self, now_ns: u64) {
        let rtt_ns = u64::from(self.rtt_us()) * 1000;
        if rtt_ns == 0 || now_ns - self.space.since_ns < rtt_ns {
            return;
        }
        let (taken, before) = (self.next - self.space.next, self.space.taken.max(1));
        if taken > self.space.taken {
            let window = 2 * taken + SPACE_MARGIN;
            let grown = window + 2 * window * taken.saturating_sub(before) / before;
            self.window = self.window.max(grown);
        }
        self.space = Space {
            taken: self.space.taken.max(taken),
            since_ns: now_ns,
            next: self.next,
        };
    }

    /// A segment arrived; returns the acknowledgement that it causes at once.
    pub fn receive(&mut self, now_ns: u64, sequence: u64) -> Option<Ack> {
        let in_order = sequence == self.next && self.beyond.is_empty();
        if sequence >= self.next {
            self.insert(sequence);
        }
        if let Some(first) = self.beyond.first()
            && first.start == self.next
        {
            self.next = first.end;
            self.beyond.remove(0);
        }
        self.size(now_ns);
        self.unacknowledged += 1;
        if in_order && self.unacknowledged < 2 && self.quick_acks == 0 {
            self.delayed_until_ns = Some(now_ns + DELAYED_ACK_NS);
            return None;
        }
        self.quick_acks = self.quick_acks.saturating_sub(1);
        Some(self.acknowledge(now_ns))
    }

    /// Before a segment is received: whether it bears a mark. Returns what has to be acknowledged
    /// first, because it was marked otherwise.
    pub fn notice_mark(&mut self, now_ns: u64, is_marked: bool) -> Option<Ack> {
        match &mut self.echo {
            Echo::Once { is_due } => {
                *is_due |= is_marked;
                None
            }
            Echo::Each { is_marked: before } if *before == is_marked => None,
            Echo::Each { .. } => {
                let delayed = self.delayed_until_ns.is_some();
                let ack = delayed.then(|| self.acknowledge(now_ns));
                self.echo = Echo::Each { is_marked };
                self.quick_acks = self.quick_acks.max(1);
                ack
            }
        }
    }

    /// The segment that was just received ends what its sender had to send, and says so (PSH):
    /// returns the acknowledgement of it that would have been delayed. As in Linux
    /// (`__tcp_cleanup_rbuf`), where the application has read all, and sends nothing itself that
    /// the acknowledgement could go with.
    pub fn end(&mut self, now_ns: u64) -> Option<Ack> {
        let is_delayed = self.delayed_until_ns.is_some() && self.beyond.is_empty();
        is_delayed.then(|| self.acknowledge(now_ns))
    }

    /// A segment echoes this timestamp. As Linux since 6.16 (`tcp_rcv_rtt_update`): a shorter
    /// round trip counts at once, a longer one by an eighth.
    pub fn measure(&mut self, now_ns: u64, echo_ms: u64) {
        if self.echo_ms.replace(echo_ms) == Some(echo_ms) {
            return;
        }
        let rtt_us = (now_ns / NS_PER_MS - echo_ms).max(1) * US_PER_MS;
        self.rtt_sum_us = match self.rtt_sum_us {
            sum_us if sum_us == 0 || rtt_us * 8 < sum_us => rtt_us * 8,
            sum_us => sum_us - sum_us / 8 + rtt_us,
        };
    }

    /// The smoothed round trip; 0: none was measured.
    pub fn rtt_us(&self) -> u32 {
        (self.rtt_sum_us / 8) as u32
    }

    fn insert(&mut self, sequence: u64) {
        let at = self.beyond.partition_point(|range| range.end < sequence);
        match self.beyond.get_mut(at) {
            Some(range) if range.contains(&sequence) => return,
            Some(range) if range.end == sequence => range.end += 1,
            Some(range) if range.start == sequence + 1 => range.start = sequence,
            _ => self.beyond.insert(at, sequence..sequence + 1),
        }
        if let Some(next) = self.beyond.get(at + 1).cloned()
            && next.start == self.beyond[at].end
        {
            self.beyond[at].end = next.end;
            self.beyond.remove(at + 1);
        }
    }

    /// What has arrived, now. The right edge of the advertised window never moves back (RFC 9293,
    /// 3.8.6).
    pub fn acknowledge(&mut self, now_ns: u64) -> Ack {
        self.unacknowledged = 0;
        self.delayed_until_ns = None;
        self.limit = self.limit.max(self.next + self.clamp.min(self.window));
        let echoes = match &mut self.echo {
            Echo::Once { is_due } => std::mem::take(is_due),
            Echo::Each { is_marked } => *is_marked,
        };
        Ack {
            next: self.next,
            beyond: self.beyond.clone(),
            limit: self.limit,
            stamp_ms: now_ns / NS_PER_MS,
            echoes,
        }
    }

    /// Segments received in order.
    pub fn delivered(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// In any order, with repetitions: what is acknowledged is what arrived.
        #[test]
        fn everything_that_arrived_is_acknowledged(
            sequences in prop::collection::vec(0..60u64, 1..200),
        ) {
            let mut receiver = Receiver::default();
            let mut arrived = std::collections::BTreeSet::new();
            for (at, sequence) in sequences.into_iter().enumerate() {
                receiver.receive(at as u64, sequence);
                arrived.insert(sequence);
                let ack = receiver.acknowledge(0);
                let mut expected = 0;
                while arrived.contains(&expected) {
                    expected += 1;
                }
                prop_assert_eq!(ack.next, expected);
                let beyond: Vec<u64> = ack.beyond.iter().cloned().flatten().collect();
                let of_arrived: Vec<u64> = arrived.range(expected..).copied().collect();
                prop_assert_eq!(beyond, of_arrived);
                let apart = ack.beyond.windows(2).all(|pair| pair[0].end < pair[1].start);
                prop_assert!(apart, "{ack:?}");
            }
        }
    }

    #[test]
    fn a_shorter_round_trip_counts_at_once_and_each_timestamp_once() {
        let mut receiver = Receiver::default();
        receiver.measure(20 * NS_PER_MS, 0);
        assert_eq!(receiver.rtt_us(), 20_000);
        receiver.measure(30 * NS_PER_MS, 0);
        assert_eq!(receiver.rtt_us(), 20_000);
        receiver.measure(40 * NS_PER_MS, 2);
        assert_eq!(receiver.rtt_us(), 22_250);
        receiver.measure(50 * NS_PER_MS, 40);
        assert_eq!(receiver.rtt_us(), 10_000);
    }

    #[test]
    fn every_second_segment_is_acknowledged_once_started() {
        let mut receiver = Receiver::default();
        let acked: Vec<bool> = (0..24)
            .map(|sequence| receiver.receive(0, sequence).is_some())
            .collect();
        assert!(acked[..16].iter().all(|acked| *acked));
        assert_eq!(acked[16..20], [false, true, false, true]);
    }

    #[test]
    fn the_odd_last_segment_is_acknowledged_at_once() {
        let mut receiver = Receiver::default();
        for sequence in 0..45 {
            let ack = receiver.receive(0, sequence);
            assert!(ack.is_some() || sequence % 2 == 0, "{sequence}");
        }
        assert_eq!(receiver.delayed_until_ns, Some(DELAYED_ACK_NS));
        assert_eq!(receiver.end(0).map(|ack| ack.next), Some(45));
        assert_eq!(receiver.delayed_until_ns, None);
        assert_eq!(receiver.end(0), None);
    }

    #[test]
    fn a_mark_is_told_once() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.notice_mark(0, true), None);
        assert_eq!(receiver.notice_mark(0, false), None);
        assert!(receiver.acknowledge(0).echoes);
        assert!(!receiver.acknowledge(0).echoes);
    }

    #[test]
    fn of_dctcp_no_acknowledgement_is_about_marked_and_other_segments() {
        let mut receiver = Receiver::of_dctcp();
        let marks = [false; 17].into_iter().chain([true, true, false, false]);
        let acks = (0..).zip(marks).flat_map(|(sequence, is_marked)| {
            let before = receiver.notice_mark(0, is_marked);
            let after = receiver.receive(0, sequence);
            [before, after].into_iter().flatten().collect::<Vec<_>>()
        });
        let acks: Vec<(u64, bool)> = acks.map(|ack| (ack.next, ack.echoes)).collect();
        // Of 17 the last is delayed until the first mark comes.
        assert_eq!(
            acks[15..],
            [
                (16, false),
                (17, false),
                (18, true),
                (19, true),
                (20, false)
            ]
        );
    }
}

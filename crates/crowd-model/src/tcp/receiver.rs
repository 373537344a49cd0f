//! The receiver: what it has, what it acknowledges and when, and how much it allows.

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
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    next: u64,
    beyond: Vec<Range<u64>>,
    unacknowledged: u32,
    quick_acks: u32,
    limit: u64,
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
            clamp: u64::MAX / 2,
            delayed_until_ns: None,
        }
    }
}

impl Receiver {
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
        self.unacknowledged += 1;
        if in_order && self.unacknowledged < 2 && self.quick_acks == 0 {
            self.delayed_until_ns = Some(now_ns + DELAYED_ACK_NS);
            return None;
        }
        self.quick_acks = self.quick_acks.saturating_sub(1);
        Some(self.acknowledge())
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
    pub fn acknowledge(&mut self) -> Ack {
        self.unacknowledged = 0;
        self.delayed_until_ns = None;
        self.limit = self.limit.max(self.next + self.clamp);
        Ack {
            next: self.next,
            beyond: self.beyond.clone(),
            limit: self.limit,
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
                let ack = receiver.acknowledge();
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
    fn every_second_segment_is_acknowledged_once_started() {
        let mut receiver = Receiver::default();
        let acked: Vec<bool> = (0..24)
            .map(|sequence| receiver.receive(0, sequence).is_some())
            .collect();
        assert!(acked[..16].iter().all(|acked| *acked));
        assert_eq!(acked[16..20], [false, true, false, true]);
    }
}

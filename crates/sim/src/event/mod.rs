//! The queue of events: by time, and at one time in the order in which they were scheduled.
//!
//! Two wheels of buckets and a heap, so that the cost of an event does not grow with their number
//! (G. Varghese and T. Lauck, Hashed and Hierarchical Timing Wheels, SOSP '87). The fine wheel spans
//! one bucket of the coarse one, and the coarse one all that is not in the heap. The events of one
//! fine bucket are sorted when its time has come.

mod wheel;

use std::{cmp::Reverse, collections::BinaryHeap};

use self::wheel::{BUCKETS_LOG, Wheel};

/// A bucket of the fine wheel spans 2^12 ns.
const FINE_SHIFT: u32 = 12;
/// One of the coarse wheel spans 17 ms, and the wheel 69 s.
const COARSE_SHIFT: u32 = FINE_SHIFT + BUCKETS_LOG;
const FAR_SHIFT: u32 = COARSE_SHIFT + BUCKETS_LOG;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The flow's sender wakes.
    Wake(u32),
    /// The flow's next packet on the path reaches its receiver.
    Arrive(u32),
    /// The flow's next answer reaches its sender.
    Answer(u32),
    /// The task's period is over.
    Turn(u32),
    /// Stations' cards read their signal.
    Listen,
    /// The figures begin.
    Measure,
}

impl What {
    /// The flow that it happens to.
    pub fn flow(self) -> Option<u32> {
        match self {
            Self::Wake(flow) | Self::Arrive(flow) | Self::Answer(flow) => Some(flow),
            Self::Turn(_) | Self::Listen | Self::Measure => None,
        }
    }
}

/// Of equal times, the lower number is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: u64,
    number: u64,
    what: What,
}

/// Events in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Those up to the end of the present fine bucket, the first last.
    now: Vec<Event>,
    /// The present bucket, as a count of fine buckets.
    bucket: u64,
    /// Not before the first event: thousands may begin at 0.
    has_begun: bool,
    fine: Wheel,
    coarse: Wheel,
    far: BinaryHeap<Reverse<Event>>,
    scheduled: u64,
}

impl Events {
    pub fn schedule(&mut self, at_ns: u64, what: What) {
        self.scheduled += 1;
        self.insert(Event {
            at_ns,
            number: self.scheduled,
            what,
        });
    }

    fn insert(&mut self, event: Event) {
        let at_ns = event.at_ns;
        let present_ns = self.bucket << FINE_SHIFT;
        if self.has_begun && at_ns >> FINE_SHIFT <= self.bucket {
            let at = self.now.partition_point(|other| *other > event);
            self.now.insert(at, event);
        } else if at_ns >> COARSE_SHIFT == present_ns >> COARSE_SHIFT {
            self.fine.insert(at_ns >> FINE_SHIFT, event);
        } else if at_ns >> FAR_SHIFT == present_ns >> FAR_SHIFT {
            self.coarse.insert(at_ns >> COARSE_SHIFT, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// What happens up to the end of the present bucket, the first last.
    pub fn present(&self) -> impl ExactSizeIterator<Item = What> {
        self.now.iter().map(|event| event.what)
    }

    /// Removes the first event, if it is before this time. Later ones may still be scheduled for
    /// any time from there on.
    pub fn pop_before(&mut self, end_ns: u64) -> Option<(u64, What)> {
        while self.now.is_empty() {
            if !self.advance(end_ns) {
                return None;
            }
        }
        let first = self.now.pop_if(|event| event.at_ns < end_ns)?;
        Some((first.at_ns, first.what))
    }

    /// Makes the next bucket the present one, if it begins before this time. Returns whether it
    /// did. Precondition: there is no event up to the end of the present one.
    fn advance(&mut self, end_ns: u64) -> bool {
        let present_ns = self.bucket << FINE_SHIFT;
        if !self.fine.is_empty() {
            let first = self.fine.first();
            let bucket = present_ns >> COARSE_SHIFT << BUCKETS_LOG | first;
            return self.enter(bucket, end_ns, |events| {
                events.fine.take(first, &mut events.now);
                events.now.sort_unstable_by(|a, b| b.cmp(a));
            });
        }
        if !self.coarse.is_empty() {
            let first = self.coarse.first();
            let coarse = present_ns >> FAR_SHIFT << BUCKETS_LOG | first;
            return self.enter(coarse << BUCKETS_LOG, end_ns, |events| {
                let mut spread = Vec::new();
                events.coarse.take(first, &mut spread);
                spread.into_iter().for_each(|event| events.insert(event));
            });
        }
        let Some(Reverse(first)) = self.far.peek() else {
            return false;
        };
        let far = first.at_ns >> FAR_SHIFT;
        self.enter(far << (2 * BUCKETS_LOG), end_ns, |events| {
            let is_near = |event: &Reverse<Event>| event.0.at_ns >> FAR_SHIFT == far;
            while events.far.peek().is_some_and(is_near)
                && let Some(Reverse(event)) = events.far.pop()
            {
                events.insert(event);
            }
        })
    }

    fn enter(&mut self, bucket: u64, end_ns: u64, fill: impl FnOnce(&mut Self)) -> bool {
        let begins = bucket << FINE_SHIFT < end_ns;
        if begins {
            self.bucket = bucket;
            fill(self);
            self.has_begun |= !self.now.is_empty();
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Near and far, and often equal.
    fn times() -> impl Strategy<Value = u64> {
        prop_oneof![0..20u64, 0..100_000u64, 0..1u64 << 30, 0..1u64 << 40]
    }

    proptest! {
        #[test]
        fn events_come_by_time_and_then_in_order(
            steps in prop::collection::vec((times(), times(), 0..4u8), 0..300),
        ) {
            let mut events = Events::default();
            let mut expected = BTreeSet::new();
            let (mut now_ns, mut flow) = (0, 0);
            for (after_ns, limit_ns, pops) in steps {
                expected.insert((now_ns + after_ns, flow));
                events.schedule(now_ns + after_ns, What::Wake(flow));
                flow += 1;
                for _ in 0..pops {
                    let end_ns = now_ns + limit_ns;
                    let first = expected.first().copied().filter(|(at_ns, _)| *at_ns < end_ns);
                    let first = first.inspect(|first| {
                        expected.remove(first);
                    });
                    let popped = events.pop_before(end_ns);
                    prop_assert_eq!(popped, first.map(|(at_ns, flow)| (at_ns, What::Wake(flow))));
                    now_ns = popped.map_or(end_ns, |(at_ns, _)| at_ns);
                }
            }
            for (at_ns, flow) in expected {
                prop_assert_eq!(events.pop_before(u64::MAX), Some((at_ns, What::Wake(flow))));
            }
            prop_assert_eq!(events.pop_before(u64::MAX), None);
        }
    }
}

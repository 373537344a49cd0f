//! The queue of events: by time, and at one time in the order in which they were scheduled.

use std::{cmp::Reverse, collections::BinaryHeap};

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The flow's sender wakes.
    Wake(u32),
    /// The flow's next packet on the path reaches its receiver.
    Arrive(u32),
    /// The flow's next answer reaches its sender.
    Answer(u32),
}

/// Events in the order of time. Each has a number, so that no two are equal.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<(u64, u64, What)>>,
    scheduled: u64,
}

impl Events {
    pub fn schedule(&mut self, at_ns: u64, what: What) {
        self.scheduled += 1;
        self.heap.push(Reverse((at_ns, self.scheduled, what)));
    }

    /// When the first is due; `u64::MAX` without any.
    pub fn next_ns(&self) -> u64 {
        self.heap
            .peek()
            .map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns)
    }

    /// Removes the first.
    pub fn pop(&mut self) -> Option<What> {
        self.heap.pop().map(|Reverse((.., what))| what)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_come_by_time_and_then_in_order(times in prop::collection::vec(0..20u64, 0..200)) {
            let mut events = Events::default();
            for (flow, at_ns) in (0..).zip(&times) {
                events.schedule(*at_ns, What::Wake(flow));
            }
            let mut expected: Vec<(u64, u32)> = times.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            for (at_ns, flow) in expected {
                prop_assert_eq!(events.next_ns(), at_ns);
                prop_assert_eq!(events.pop(), Some(What::Wake(flow)));
            }
            prop_assert_eq!(events.next_ns(), u64::MAX);
        }
    }
}

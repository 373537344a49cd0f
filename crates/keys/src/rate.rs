//! Rate limits.

/// A burst at once, and then one event every interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    interval_ns: u64,
    /// The value of a full bucket's tokens.
    depth_ns: u64,
}

impl Rate {
    /// `burst` at once, and then one every `interval_ns`.
    pub const fn new(interval_ns: u64, burst: u64) -> Self {
        Self {
            interval_ns,
            depth_ns: interval_ns * burst,
        }
    }

    /// One every interval on average, and none more than half an interval early.
    pub const fn once_per(interval_ns: u64) -> Self {
        Self {
            interval_ns,
            depth_ns: interval_ns + interval_ns / 2,
        }
    }

    /// `burst` at once, and then `count` a second.
    pub const fn per_second(count: u64, burst: u64) -> Self {
        Self::new(1_000_000_000 / count, burst)
    }

    /// Between two events after the burst.
    pub const fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// The burst.
    pub fn burst(&self) -> u64 {
        self.depth_ns / self.interval_ns
    }

    /// Events per second after the burst.
    pub fn per_second_count(&self) -> u64 {
        1_000_000_000 / self.interval_ns
    }
}

/// A token bucket, stored as the moment at which it is full again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bucket {
    full_ns: u64,
}

impl Bucket {
    /// Takes a token, if there is one.
    pub fn take(&mut self, rate: &Rate, now_ns: u64) -> bool {
        let full_ns = self.full_ns.max(now_ns).saturating_add(rate.interval_ns);
        let is_there = full_ns - now_ns <= rate.depth_ns;
        if is_there {
            self.full_ns = full_ns;
        }
        is_there
    }

    /// Whether it may be forgotten, since a new one is as full.
    pub fn is_full(&self, now_ns: u64) -> bool {
        self.full_ns <= now_ns
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate::per_second(10, 20);

    #[test]
    fn a_thousand_a_second_are_mostly_refused() {
        let mut bucket = Bucket::default();
        let taken = (0..1000u64).filter(|i| bucket.take(&RATE, i * 1_000_000));
        assert_eq!(taken.count(), 20 + 9);
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate(
            start_ns in 0..1u64 << 60,
            waits in prop::collection::vec(0..300_000_000u64, 1..300),
        ) {
            let mut bucket = Bucket::default();
            let (mut now_ns, mut taken) = (start_ns, 0);
            for wait_ns in waits {
                now_ns += wait_ns;
                taken += u64::from(bucket.take(&RATE, now_ns));
                let most = 20 + (now_ns - start_ns) / RATE.interval_ns();
                prop_assert!(taken <= most);
            }
        }

        #[test]
        fn events_within_the_rate_are_never_refused(more_ns in prop::collection::vec(0..10_000u64, 1..300)) {
            let mut bucket = Bucket::default();
            let mut now_ns = 0;
            for more_ns in more_ns {
                now_ns += RATE.interval_ns() + more_ns;
                prop_assert!(bucket.take(&RATE, now_ns));
            }
            prop_assert!(bucket.is_full(now_ns + RATE.interval_ns()));
        }

        /// A timer that comes up to a quarter of an interval early or late.
        #[test]
        fn once_per_interval_bears_with_timers(late_ns in prop::collection::vec(0..25u64, 1..300)) {
            let rate = Rate::once_per(50);
            let mut bucket = Bucket::default();
            for (late_ns, k) in late_ns.into_iter().zip(0..) {
                prop_assert!(bucket.take(&rate, 1000 + k * 50 + late_ns));
            }
        }
    }
}

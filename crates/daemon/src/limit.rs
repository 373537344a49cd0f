//! How much one user may ask for.

/// Terms of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub registrations: usize,
    /// Requests at once ...
    pub burst: u64,
    /// ... and from then on.
    pub per_second: u64,
}

const OF_USERS: Limits = Limits {
    registrations: 256,
    burst: 20,
    per_second: 10,
};

/// Who starts services for everybody has more to say.
const OF_ROOT: Limits = Limits {
    registrations: 1024,
    burst: 200,
    per_second: 100,
};

impl Limits {
    pub fn of(uid: u32) -> Self {
        match uid {
            0 => OF_ROOT,
            _ => OF_USERS,
        }
    }

    fn interval_ns(&self) -> u64 {
        1_000_000_000 / self.per_second
    }
}

/// A token bucket, as the moment at which it is full again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bucket {
    full_ns: u64,
}

impl Bucket {
    /// Whether there is a token; then it is taken.
    pub fn take(&mut self, limits: &Limits, now_ns: u64) -> bool {
        let full_ns = self.full_ns.max(now_ns) + limits.interval_ns();
        let is_there = full_ns - now_ns <= limits.burst * limits.interval_ns();
        if is_there {
            self.full_ns = full_ns;
        }
        is_there
    }

    pub fn is_full(&self, now_ns: u64) -> bool {
        self.full_ns <= now_ns
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_thousand_a_second_are_mostly_refused() {
        let mut bucket = Bucket::default();
        let taken = (0..1000u64).filter(|i| bucket.take(&OF_USERS, i * 1_000_000));
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
                taken += u64::from(bucket.take(&OF_USERS, now_ns));
                let most = OF_USERS.burst + (now_ns - start_ns) / OF_USERS.interval_ns();
                prop_assert!(taken <= most);
            }
        }

        #[test]
        fn who_keeps_to_the_rate_is_never_refused(more_ns in prop::collection::vec(0..10_000u64, 1..300)) {
            let mut bucket = Bucket::default();
            let mut now_ns = 0;
            for more_ns in more_ns {
                now_ns += OF_USERS.interval_ns() + more_ns;
                prop_assert!(bucket.take(&OF_USERS, now_ns));
            }
            prop_assert!(bucket.is_full(now_ns + OF_USERS.interval_ns()));
        }
    }
}

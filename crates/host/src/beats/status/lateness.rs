//! How late starts were, from the counts that the scheduler keeps (algo/histogram.h).

use serde::Serialize;
use takt_algo::sys::takt_task_stats;

/// From the release of a job to its first member on the CPU. Percentiles are rounded up to the
/// end of their bucket, by less than a half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Of all starts.
    pub mean_ns: u64,
    /// Half of the starts were no later.
    pub p50_ns: u64,
    /// Nine in ten were no later.
    pub p90_ns: u64,
    /// All but one in a hundred were no later.
    pub p99_ns: u64,
    /// What a lead has to cover, besides the switch itself.
    pub p999_ns: u64,
    /// The latest start there was.
    pub max_ns: u64,
    /// The buckets that are not empty, two to each doubling.
    pub histogram: Vec<Bucket>,
}

/// Starts with at least this lateness, and less than the next bucket's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The least lateness of the bucket.
    pub from_ns: u64,
    /// How many starts.
    pub count: u64,
}

impl Lateness {
    /// `None` as long as nothing has started.
    pub(super) fn of(stats: &takt_task_stats) -> Option<Self> {
        // The counters are read while they move.
        let count: u64 = stats.lateness.iter().sum();
        if count == 0 {
            return None;
        }
        let max_ns = stats.lateness_max_ns;
        let percentile = |permille: u64| {
            let rank = (count * permille).div_ceil(1000).max(1);
            let mut seen = 0;
            let at = stats.lateness.iter().position(|count| {
                seen += count;
                seen >= rank
            });
            at.map_or(max_ns, |at| (from_ns(at + 1) - 1).min(max_ns))
        };
        let buckets = stats.lateness.iter().enumerate();
        Some(Self {
            mean_ns: stats.lateness_sum_ns / stats.started.max(1),
            p50_ns: percentile(500),
            p90_ns: percentile(900),
            p99_ns: percentile(990),
            p999_ns: percentile(999),
            max_ns,
            histogram: buckets
                .filter(|(_, count)| **count > 0)
                .map(|(at, count)| Bucket {
                    from_ns: from_ns(at),
                    count: *count,
                })
                .collect(),
        })
    }
}

/// The least value in a bucket.
fn from_ns(bucket: usize) -> u64 {
    match bucket {
        0 | 1 => bucket as u64,
        _ => (2 + bucket as u64 % 2) << (bucket / 2 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use takt_algo::sys::{TAKT_BUCKETS, takt_bucket};

    #[test]
    fn buckets_begin_where_the_kernel_says() {
        for bucket in 0..TAKT_BUCKETS {
            let from_ns = from_ns(bucket as usize);
            // SAFETY: plain arithmetic.
            let (first, before) =
                unsafe { (takt_bucket(from_ns), takt_bucket(from_ns.saturating_sub(1))) };
            assert_eq!(first, bucket);
            assert_eq!(before, bucket.saturating_sub(1));
        }
    }

    #[test]
    fn percentiles_are_never_too_low() {
        let mut stats = takt_task_stats::default();
        assert_eq!(Lateness::of(&stats), None);
        let late = |n: u64| match n {
            0..90 => 1_000,
            90..99 => 5_000,
            _ => 70_000,
        };
        for late_ns in (0..100).map(late) {
            // SAFETY: plain arithmetic.
            stats.lateness[unsafe { takt_bucket(late_ns) } as usize] += 1;
            stats.lateness_sum_ns += late_ns;
            stats.lateness_max_ns = stats.lateness_max_ns.max(late_ns);
            stats.started += 1;
        }
        let lateness = Lateness::of(&stats).expect("it started");
        assert_eq!(lateness.mean_ns, 2_050);
        assert_eq!((lateness.p50_ns, lateness.p90_ns), (1_023, 1_023));
        assert_eq!((lateness.p99_ns, lateness.max_ns), (6_143, 70_000));
        assert_eq!(lateness.p999_ns, 70_000);
        let counts: Vec<u64> = lateness.histogram.iter().map(|b| b.count).collect();
        assert_eq!(counts, [90, 9, 1]);
        assert_eq!(lateness.histogram[2].from_ns, 65_536);
    }
}

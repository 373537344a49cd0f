//! The statistics behind the rows: pure functions from samples to figures.

use serde_json::{Value, json};

/// The sample of nearest rank: the smallest one that at least `per_mille` of a
/// thousand samples do not exceed. Always a value that was really measured,
/// never an interpolation. `sorted` must be in ascending order; 500 is the
/// median, 0 the minimum and 1000 the maximum.
pub fn nearest_rank<T: Copy + Ord>(sorted: &[T], per_mille: u16) -> Option<T> {
    debug_assert!(sorted.is_sorted());
    // Integers, because in floats 0.55 × 100 exceeds 55 and would round up.
    let rank = (sorted.len() as u128 * u128::from(per_mille)).div_ceil(1000) as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The figures every distribution is reported by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles<T> {
    /// The median.
    pub p50: T,
    /// 90 %.
    pub p90: T,
    /// 99 %.
    pub p99: T,
    /// The largest.
    pub max: T,
}

impl<T: Copy + Ord> Quantiles<T> {
    /// `None` without samples. Sorts them in place.
    pub fn from_samples(samples: &mut [T]) -> Option<Self> {
        samples.sort_unstable();
        Some(Quantiles {
            p50: nearest_rank(samples, 500)?,
            p90: nearest_rank(samples, 900)?,
            p99: nearest_rank(samples, 990)?,
            max: nearest_rank(samples, 1000)?,
        })
    }
}

/// How far packets are from even spacing: for every two successive packets, the distance
/// between their gap and the ideal gap.
#[derive(Debug, Clone, PartialEq)]
pub struct Spacing {
    /// How far departures were from their ideal times.
    pub error_ns: Quantiles<u64>,
    /// The same as a histogram.
    pub error_histogram_ns: Histogram,
}

impl Spacing {
    /// From arrival times in the order of arrival; `None` with fewer than two.
    pub fn from_arrivals(arrivals_ns: &[u64], target_gap_ns: f64) -> Option<Self> {
        Self::from_errors(gap_errors_ns(arrivals_ns, target_gap_ns))
    }

    /// From the errors of gaps, of one class or of several; `None` without any.
    pub fn from_errors(mut errors_ns: Vec<u64>) -> Option<Self> {
        Some(Spacing {
            error_ns: Quantiles::from_samples(&mut errors_ns)?,
            error_histogram_ns: Histogram::from_samples(&errors_ns),
        })
    }

    /// The metrics of a row, by the names the report reads.
    pub fn metrics(&self) -> [(String, Value); 5] {
        [
            ("spacing_error_p50_ns", json!(self.error_ns.p50)),
            ("spacing_error_p90_ns", json!(self.error_ns.p90)),
            ("spacing_error_p99_ns", json!(self.error_ns.p99)),
            ("spacing_error_max_ns", json!(self.error_ns.max)),
            (
                "spacing_error_histogram_ns",
                json!(self.error_histogram_ns.buckets),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

/// The distance of each gap between two successive arrivals from the ideal one.
pub fn gap_errors_ns(arrivals_ns: &[u64], target_gap_ns: f64) -> Vec<u64> {
    arrivals_ns
        .windows(2)
        .map(|pair| {
            // Signed: a time stamp may step back between two CPUs.
            let gap_ns = i128::from(pair[1]) - i128::from(pair[0]);
            (gap_ns as f64 - target_gap_ns).abs().round() as u64
        })
        .collect()
}

/// Counts in buckets of nearly equal width on a logarithmic axis, five a
/// decade (the Renard series R5 in whole numbers).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// `(lower edge, count)` from the first bucket with a sample to the last,
    /// the empty ones between them included.
    pub buckets: Vec<(u64, u64)>,
}

/// Below ten the series has no whole numbers of its own; zero gets a bucket.
const EDGES_BELOW_TEN: [u64; 6] = [0, 1, 2, 3, 4, 6];
const EDGES_PER_DECADE: [u64; 5] = [10, 16, 25, 40, 63];

impl Histogram {
    /// The histogram of these samples.
    pub fn from_samples(samples: &[u64]) -> Self {
        let edges = histogram_edges();
        let mut counts = vec![0; edges.len()];
        for sample in samples {
            // The first edge is 0, so at least one edge is not above a sample.
            counts[edges.partition_point(|edge| edge <= sample) - 1] += 1;
        }
        let used = |count: &u64| *count > 0;
        let first = counts.iter().position(used).unwrap_or(0);
        let last = counts.iter().rposition(used).map_or(0, |last| last + 1);
        Histogram {
            buckets: edges
                .into_iter()
                .zip(counts)
                .take(last)
                .skip(first)
                .collect(),
        }
    }
}

/// Every lower edge a u64 can need.
fn histogram_edges() -> Vec<u64> {
    let decades = (0..).map_while(|exponent| 10_u64.checked_pow(exponent));
    EDGES_BELOW_TEN
        .into_iter()
        .chain(
            decades
                .flat_map(|scale| EDGES_PER_DECADE.map(|edge| edge.checked_mul(scale)))
                .flatten(),
        )
        .collect()
}

/// The rate that a receiver saw between its first and its last arrival. The first frame only
/// starts the clock, so its bits are not among `bits_after_first`. `None` if no time passed.
pub fn achieved_bps(first_ns: u64, last_ns: u64, bits_after_first: u64) -> Option<f64> {
    let elapsed_ns = last_ns.checked_sub(first_ns).filter(|&ns| ns > 0)?;
    Some(bits_after_first as f64 * 1e9 / elapsed_ns as f64)
}

/// Signed distance from the target in millionths of the target: positive is
/// too fast. `None` for a target of zero.
pub fn rate_error_ppm(achieved_bps: f64, target_bps: f64) -> Option<f64> {
    (target_bps > 0.0).then(|| (achieved_bps / target_bps - 1.0) * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearest_rank_takes_the_textbook_samples() {
        let samples = [15, 20, 35, 40, 50];
        let ranks = [0, 50, 300, 400, 500, 1000].map(|p| nearest_rank(&samples, p));
        assert_eq!(ranks, [15, 15, 20, 20, 35, 50].map(Some));
        assert_eq!(nearest_rank::<u64>(&[], 500), None);
    }

    #[test]
    fn a_rank_that_floats_would_round_up_is_exact() {
        let samples: Vec<u64> = (1..=100).collect();
        assert_eq!(nearest_rank(&samples, 550), Some(55));
    }

    #[test]
    fn an_even_beat_has_no_error() {
        let arrivals: Vec<u64> = (0..1000).map(|n| 7 + n * 12_000).collect();
        let spacing = Spacing::from_arrivals(&arrivals, 12_000.0).unwrap();
        assert_eq!(spacing.error_ns.max, 0);
        assert_eq!(spacing.error_histogram_ns.buckets, [(0, 999)]);
    }

    #[test]
    fn packets_in_pairs_are_a_whole_gap_off() {
        let arrivals = [0, 0, 2_000, 2_000, 4_000];
        let spacing = Spacing::from_arrivals(&arrivals, 1_000.0).unwrap();
        assert_eq!(spacing.error_ns.p50, 1_000);
        assert_eq!(spacing.error_histogram_ns.buckets, [(1_000, 4)]);
    }

    #[test]
    fn a_clock_that_steps_back_is_an_error_not_an_overflow() {
        let spacing = Spacing::from_arrivals(&[1_000, 900], 50.0).unwrap();
        assert_eq!(spacing.error_ns.max, 150);
    }

    #[test]
    fn one_arrival_has_no_spacing_and_no_rate() {
        assert_eq!(Spacing::from_arrivals(&[5], 1.0), None);
        assert_eq!(achieved_bps(5, 5, 100), None);
        assert_eq!(rate_error_ppm(1.0, 0.0), None);
    }

    #[test]
    fn ten_frames_in_nine_gaps_are_the_target_rate() {
        let gap_ns = 120_000;
        let bits = 12_000 * 9;
        let rate_bps = achieved_bps(1_000, 1_000 + 9 * gap_ns, bits).unwrap();
        assert_eq!(rate_error_ppm(rate_bps, 100e6), Some(0.0));
    }

    proptest! {
        #[test]
        fn a_percentile_splits_the_samples(
            mut samples in prop::collection::vec(any::<i64>(), 1..200),
            per_mille in 0_u16..=1000,
        ) {
            samples.sort_unstable();
            let found = nearest_rank(&samples, per_mille).unwrap();
            let (len, share) = (samples.len() as u64, u64::from(per_mille));
            let not_above = samples.iter().filter(|&&s| s <= found).count() as u64;
            let below = samples.iter().filter(|&&s| s < found).count() as u64;
            prop_assert!(not_above * 1000 >= len * share);
            prop_assert!(below == 0 || below * 1000 < len * share);
        }

        #[test]
        fn a_histogram_keeps_every_sample_in_its_bucket(
            samples in prop::collection::vec(any::<u64>(), 0..200),
        ) {
            let buckets = Histogram::from_samples(&samples).buckets;
            let total: u64 = buckets.iter().map(|(_, count)| count).sum();
            prop_assert_eq!(total, samples.len() as u64);
            for (at, &(edge, count)) in buckets.iter().enumerate() {
                let next = buckets.get(at + 1).map_or(u64::MAX, |next| next.0);
                let inside = |&&s: &&u64| s >= edge && (s < next || at + 1 == buckets.len());
                prop_assert_eq!(samples.iter().filter(inside).count() as u64, count);
            }
        }

        #[test]
        fn a_shifted_start_changes_no_spacing(
            gaps in prop::collection::vec(0_u64..1_000_000, 1..100),
            start in 0_u64..1_000_000_000,
        ) {
            let arrivals = |start| -> Vec<u64> {
                let mut at = start;
                std::iter::once(start).chain(gaps.iter().map(|gap| { at += gap; at })).collect()
            };
            prop_assert_eq!(
                Spacing::from_arrivals(&arrivals(start), 1234.5),
                Spacing::from_arrivals(&arrivals(0), 1234.5)
            );
        }
    }
}

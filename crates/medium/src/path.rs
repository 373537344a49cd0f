//! A station's signal-to-noise ratio over time as it moves.

use thiserror::Error;

/// A piecewise linear SNR in hundredths of a dB over time; constant before its first point and
/// after its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnrPath {
    /// Times in ns, rising, and the SNR at each.
    points: Vec<(u64, i32)>,
    /// The path starts again whenever this much time has passed.
    period_ns: Option<u64>,
}

/// Why a path is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PathError {
    /// It has no points.
    #[error("a path needs at least one point")]
    Empty,
    /// This point is not later than the one before.
    #[error("point {0} of the path is not later than the one before it")]
    NotRising(usize),
    /// It repeats before its last point.
    #[error("the path's period ends before its last point")]
    ShortPeriod,
}

impl SnrPath {
    /// A station that does not move.
    pub fn constant(snr_centidb: i32) -> Self {
        SnrPath {
            points: vec![(0, snr_centidb)],
            period_ns: None,
        }
    }

    /// Through `points` (time in ns, SNR), once.
    pub fn once(points: Vec<(u64, i32)>) -> Result<Self, PathError> {
        if points.is_empty() {
            return Err(PathError::Empty);
        }
        match points.windows(2).position(|pair| pair[1].0 <= pair[0].0) {
            Some(index) => Err(PathError::NotRising(index + 1)),
            None => Ok(SnrPath {
                points,
                period_ns: None,
            }),
        }
    }

    /// Through `points` repeatedly, once every `period_ns`.
    pub fn repeating(points: Vec<(u64, i32)>, period_ns: u64) -> Result<Self, PathError> {
        let path = Self::once(points)?;
        match path.points.last() {
            Some(&(last_ns, _)) if last_ns < period_ns => Ok(SnrPath {
                period_ns: Some(period_ns),
                ..path
            }),
            _ => Err(PathError::ShortPeriod),
        }
    }

    /// A person who walks around the room in two minutes and is nearest to the base station at
    /// 70 s and 190 s, between `far` and `near` (SoCPS, section 5.3.4 and figure 19).
    pub fn round_trip(far_centidb: i32, near_centidb: i32) -> Self {
        const SECOND_NS: u64 = 1_000_000_000;
        let middle = far_centidb + (near_centidb - far_centidb) / 6;
        SnrPath {
            points: vec![
                (0, middle),
                (10 * SECOND_NS, far_centidb),
                (70 * SECOND_NS, near_centidb),
                (120 * SECOND_NS - 1, middle),
            ],
            period_ns: Some(120 * SECOND_NS),
        }
    }

    /// The SNR now, in hundredths of a dB.
    pub fn snr_centidb(&self, now_ns: u64) -> i32 {
        let at_ns = self
            .period_ns
            .map_or(now_ns, |period_ns| now_ns % period_ns);
        let next = self
            .points
            .partition_point(|&(time_ns, _)| time_ns <= at_ns);
        match (
            next.checked_sub(1).and_then(|i| self.points.get(i)),
            self.points.get(next),
        ) {
            (Some(&(from_ns, from)), Some(&(to_ns, to))) => {
                let rise = i128::from(to) - i128::from(from);
                let part = rise * i128::from(at_ns - from_ns) / i128::from(to_ns - from_ns);
                (i128::from(from) + part) as i32
            }
            (Some(&(_, snr)), None) | (None, Some(&(_, snr))) => snr,
            // There is at least one point.
            (None, None) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_path_is_linear_between_its_points_and_flat_beyond() {
        let path = SnrPath::once(vec![(S, 0), (3 * S, 1000), (4 * S, -500)]).unwrap();
        let at: Vec<i32> = [0, S, 2 * S, 3 * S, 3 * S + S / 2, 9 * S]
            .into_iter()
            .map(|now_ns| path.snr_centidb(now_ns))
            .collect();
        assert_eq!(at, [0, 0, 500, 1000, 250, -500]);
    }

    #[test]
    fn the_round_trip_is_nearest_when_the_paper_says() {
        let path = SnrPath::round_trip(0, 1800);
        for nearest_s in [70, 190, 310] {
            assert_eq!(path.snr_centidb(nearest_s * S), 1800);
        }
        for farthest_s in [10, 130] {
            assert_eq!(path.snr_centidb(farthest_s * S), 0);
        }
        assert_eq!(path.snr_centidb(0), 300);
        assert!((path.snr_centidb(120 * S - 1) - 300).abs() <= 1);
    }

    #[test]
    fn bad_paths_are_refused() {
        assert_eq!(SnrPath::once(vec![]), Err(PathError::Empty));
        assert_eq!(
            SnrPath::once(vec![(5, 1), (5, 2)]),
            Err(PathError::NotRising(1))
        );
        assert_eq!(
            SnrPath::repeating(vec![(0, 1), (5, 2)], 5),
            Err(PathError::ShortPeriod)
        );
    }

    proptest! {
        #[test]
        fn a_path_stays_between_its_extremes(
            steps in proptest::collection::vec((1u64..u64::MAX / 64, any::<i32>()), 1..9),
            now_ns in any::<u64>(),
        ) {
            let mut at_ns = 0;
            let points: Vec<_> = steps.iter().map(|&(step, snr)| { at_ns += step; (at_ns, snr) }).collect();
            let path = SnrPath::once(points.clone()).unwrap();
            let snr = path.snr_centidb(now_ns);
            let low = points.iter().map(|point| point.1).min().unwrap();
            let high = points.iter().map(|point| point.1).max().unwrap();
            prop_assert!((low..=high).contains(&snr));
        }
    }
}

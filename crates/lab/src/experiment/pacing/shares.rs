//! From the arrivals of classes that share a link to their shares. Pure functions; arrivals are
//! in order of time.

use std::ops::Range;

/// Shares have to hold over any span of this length…
const SHARE_WINDOW_NS: u64 = 1_000_000_000;
/// …at any begin, tried at this distance.
const SHARE_STEP_NS: u64 = 10_000_000;
/// Overshoot is a class's excess within this time.
const OVERSHOOT_WINDOW_NS: u64 = 10_000_000;
/// One frame early is a matter of order, two are too many.
const OVERSHOOT_FRAMES: f64 = 1.0;

/// The number of arrivals within `span`.
pub fn count(arrivals_ns: &[u64], span: &Range<u64>) -> usize {
    let until = |end_ns| arrivals_ns.partition_point(|at_ns| *at_ns < end_ns);
    until(span.end) - until(span.start)
}

/// The rate between the first and the last arrival within `span`; nothing if there were fewer
/// than two.
pub fn rate_bps(arrivals_ns: &[u64], span: &Range<u64>, frame_bits: u64) -> f64 {
    let until = |end_ns| arrivals_ns.partition_point(|at_ns| *at_ns < end_ns);
    match arrivals_ns.get(until(span.start)..until(span.end)) {
        Some([first_ns, middle @ .., last_ns]) => {
            let bits_after_first = frame_bits * (middle.len() as u64 + 1);
            takt_report::achieved_bps(*first_ns, *last_ns, bits_after_first).unwrap_or_default()
        }
        _ => 0.0,
    }
}

/// The largest error of each class's share of the total, in percent of the expected share, over
/// every window within `span`. `None` if `span` is shorter than a window, or nothing arrived in
/// one.
pub fn share_errors_percent(
    arrivals_ns: &[&[u64]],
    entitled_bps: &[f64],
    span: &Range<u64>,
) -> Option<Vec<f64>> {
    let entitled_together_bps: f64 = entitled_bps.iter().sum();
    let last_start_ns = span.end.checked_sub(SHARE_WINDOW_NS)?;
    let mut worst = vec![0.0_f64; arrivals_ns.len()];
    let mut start_ns = span.start;
    if start_ns > last_start_ns {
        return None;
    }
    while start_ns <= last_start_ns {
        let window = start_ns..start_ns + SHARE_WINDOW_NS;
        let counts: Vec<usize> = arrivals_ns.iter().map(|one| count(one, &window)).collect();
        let together: usize = counts.iter().sum();
        if together == 0 {
            return None;
        }
        for ((worst, count), entitled_bps) in worst.iter_mut().zip(&counts).zip(entitled_bps) {
            let share = *count as f64 / together as f64;
            let wanted = entitled_bps / entitled_together_bps;
            *worst = worst.max((share / wanted - 1.0).abs() * 100.0);
        }
        start_ns += SHARE_STEP_NS;
    }
    Some(worst)
}

/// How long after the beginning of `span`, when others stopped, a class still ran above its
/// rate: until the last window began in which more frames arrived than its rate allows and one.
/// A window that begins with an arrival holds one frame more than it has gaps; that one is not
/// counted.
pub fn overshoot_ns(
    arrivals_ns: &[u64],
    span: &Range<u64>,
    entitled_bps: f64,
    frame_bits: u64,
) -> u64 {
    let allowed = entitled_bps * OVERSHOOT_WINDOW_NS as f64 / 1e9 / frame_bits as f64;
    let from = arrivals_ns.partition_point(|at_ns| *at_ns < span.start);
    arrivals_ns
        .iter()
        .skip(from)
        .take_while(|start_ns| **start_ns + OVERSHOOT_WINDOW_NS <= span.end)
        .filter(|start_ns| {
            let window = **start_ns..**start_ns + OVERSHOOT_WINDOW_NS;
            let gaps = count(arrivals_ns, &window) - 1;
            gaps as f64 > allowed + OVERSHOOT_FRAMES
        })
        .last()
        .map_or(0, |start_ns| start_ns - span.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_BITS: u64 = 1_000;

    /// Frames of a thousand bits at an even pace.
    fn even(from_ns: u64, to_ns: u64, gap_ns: u64) -> Vec<u64> {
        (from_ns..to_ns).step_by(gap_ns as usize).collect()
    }

    #[test]
    fn two_to_one_is_two_to_one() {
        let (fast, slow) = (
            even(0, 2_000_000_000, 500_000),
            even(0, 2_000_000_000, 1_000_000),
        );
        let errors =
            share_errors_percent(&[&fast, &slow], &[2e6, 1e6], &(0..2_000_000_000)).unwrap();
        assert!(errors.iter().all(|error| *error < 1e-9), "{errors:?}");
    }

    #[test]
    fn equal_shares_are_no_two_to_one() {
        let one = even(0, 1_500_000_000, 1_000_000);
        let errors = share_errors_percent(&[&one, &one], &[2e6, 1e6], &(0..1_500_000_000)).unwrap();
        assert!((errors[0] - 25.0).abs() < 1e-9 && (errors[1] - 50.0).abs() < 1e-9);
    }

    #[test]
    fn no_window_no_share() {
        let one = even(0, 900_000_000, 1_000_000);
        assert_eq!(
            share_errors_percent(&[&one], &[1.0], &(0..900_000_000)),
            None
        );
        assert_eq!(
            share_errors_percent(&[&[]], &[1.0], &(0..2_000_000_000)),
            None
        );
    }

    #[test]
    fn the_entitled_pace_does_not_overshoot() {
        let span = 1_000_000_000..1_500_000_000;
        let arrivals = even(0, 1_500_000_000, 700_000);
        let entitled_bps = FRAME_BITS as f64 * 1e9 / 700_000.0;
        assert_eq!(overshoot_ns(&arrivals, &span, entitled_bps, FRAME_BITS), 0);
    }

    #[test]
    fn an_overshoot_lasts_until_it_ends() {
        let span = 0..1_000_000_000;
        // Twice the rate for 50 ms, then the rate.
        let mut arrivals = even(0, 50_000_000, 500_000);
        arrivals.extend(even(50_000_000, 1_000_000_000, 1_000_000));
        let lasts_ns = overshoot_ns(&arrivals, &span, 1e6, FRAME_BITS);
        assert!((46_000_000..50_000_000).contains(&lasts_ns), "{lasts_ns}");
    }

    #[test]
    fn a_rate_needs_two_arrivals() {
        assert_eq!(rate_bps(&[5], &(0..10), FRAME_BITS), 0.0);
        let arrivals = even(0, 1_000_000_000, 1_000_000);
        assert_eq!(rate_bps(&arrivals, &(0..1_000_000_000), FRAME_BITS), 1e6);
    }
}

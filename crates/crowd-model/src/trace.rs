//! What a terminal sees second by second, as the papers' kernel monitor records it.

use crate::{Cell, SEGMENT_BYTES, Setup};

const S_NS: u64 = 1_000_000_000;

/// One second of a terminal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// The window of its first flow at the end, in segments.
    pub window: u64,
    /// The mean of its round trips; NaN: none was measured.
    pub rtt_ms: f64,
    /// Its goodput.
    pub rate_mbps: f64,
}

/// Runs a setup for so long; returns each terminal's seconds.
pub fn trace(setup: &Setup, seed: u64, seconds: u64) -> Vec<Vec<Second>> {
    let mut cell = Cell::new(setup.clone(), seed);
    let mut terminals = vec![Vec::new(); setup.terminals.len()];
    for end in 1..=seconds {
        let before = cell.delivered();
        cell.forget_figures();
        cell.run(end * S_NS);
        let after = cell.delivered();
        for (at, terminal) in terminals.iter_mut().enumerate() {
            let segments = after[at] - before[at];
            terminal.push(Second {
                window: cell.window(at),
                rtt_ms: cell.mean_round_trip_ns(at) / 1e6,
                rate_mbps: (segments * u64::from(SEGMENT_BYTES) * 8) as f64 / 1e6,
            });
        }
    }
    terminals
}

/// K. Pearson's coefficient; NaN: one of them does not vary.
pub fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    let (x_sum, y_sum) = pairs
        .iter()
        .fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let (x_mean, y_mean) = (x_sum / count, y_sum / count);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        let (x, y) = (x - x_mean, y - y_mean);
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    xy / (xx * yy).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_correlates_and_a_parabola_does_not() {
        let of = |y: fn(f64) -> f64| {
            let pairs: Vec<_> = (-5..=5).map(|x| (f64::from(x), y(f64::from(x)))).collect();
            correlation(&pairs)
        };
        assert!((of(|x| 3.0 - 2.0 * x) + 1.0).abs() < 1e-12);
        assert!(of(|x| x * x).abs() < 1e-12);
    }
}

//! What a run is judged by.

use crate::{Cell, SEGMENT_BYTES, Setup};

const SEGMENT_BITS: f64 = SEGMENT_BYTES as f64 * 8.0;
const NS_PER_US: f64 = 1e3;

/// One run's.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Goodput of each terminal, in Mbit/s.
    pub rates_mbps: Vec<f64>,
    /// Round trips of all flows, sorted.
    pub round_trips_ns: Vec<u64>,
    /// The variation of the first member's target: deviation over mean.
    pub unrest: f64,
}

/// Runs a setup from its beginning, and measures from each end to the next.
pub fn measure(setup: &Setup, seed: u64, ends_ns: &[u64]) -> Vec<Figures> {
    let mut cell = Cell::new(setup.clone(), seed);
    let mut from_ns = 0;
    let mut figures = Vec::new();
    for &until_ns in ends_ns {
        let before = cell.delivered();
        cell.forget_figures();
        cell.run(until_ns);
        let passed_us = (until_ns - from_ns) as f64 / NS_PER_US;
        let rates = cell.delivered().into_iter().zip(before);
        let mut round_trips_ns = cell.round_trips_ns();
        round_trips_ns.sort_unstable();
        figures.push(Figures {
            rates_mbps: rates
                .map(|(after, before)| (after - before) as f64 * SEGMENT_BITS / passed_us)
                .collect(),
            round_trips_ns,
            unrest: cell.unrest(),
        });
        from_ns = until_ns;
    }
    figures
}

impl Figures {
    /// Of all terminals.
    pub fn total_mbps(&self) -> f64 {
        self.rates_mbps.iter().sum()
    }

    /// R. Jain's index of fairness.
    pub fn jain(&self) -> f64 {
        let squares: f64 = self.rates_mbps.iter().map(|rate| rate * rate).sum();
        self.total_mbps().powi(2) / (self.rates_mbps.len() as f64 * squares)
    }

    /// The rate of one terminal in equal parts.
    pub fn share(&self, terminal: usize) -> f64 {
        self.rates_mbps[terminal] * self.rates_mbps.len() as f64 / self.total_mbps()
    }

    /// A quantile of the round trips.
    pub fn rtt_ms(&self, quantile: f64) -> f64 {
        let last = self.round_trips_ns.len().saturating_sub(1);
        let rtt_ns = self.round_trips_ns.get((last as f64 * quantile) as usize);
        rtt_ns.map_or(f64::NAN, |rtt_ns| *rtt_ns as f64 / 1e6)
    }
}

/// The mean of runs with different seeds, and half of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half of the interval, by Student's distribution.
    pub half: f64,
}

impl Interval {
    /// Of at least one value.
    pub fn from_values(values: &[f64]) -> Self {
        /// Quantiles at 97.5 % for one degree of freedom and more (Student 1908).
        const T: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Self {
                mean,
                half: f64::INFINITY,
            };
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        let t = T.get(values.len() - 2).copied().unwrap_or(2.0);
        Self {
            mean,
            half: t * deviation / count.sqrt(),
        }
    }
}

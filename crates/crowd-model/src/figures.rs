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

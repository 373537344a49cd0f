//! What is told of runs: means over seeds, and how sure they are.

use takt_sim::Outcome;

use crate::cell::Cell;

pub const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
/// Student's t for five of them, 95 % on both sides.
const T: f64 = 2.776;
/// SoCPS's interval of throughput (section 5.3).
const INTERVAL_S: usize = 3;

/// A mean over seeds and half of its interval of 95 %.
#[derive(Debug, Clone, Copy)]
pub struct Mean {
    pub mean: f64,
    pub half: f64,
}

impl Mean {
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            mean,
            half: T * (squares / (count - 1.0) / count).sqrt(),
        }
    }

    pub fn text(self, decimals: usize) -> String {
        format!("{:.decimals$} ± {:.decimals$}", self.mean, self.half)
    }
}

/// The runs of a cell, one for each seed.
pub struct Runs(pub Vec<Outcome>);

impl Runs {
    pub fn of(cell: &Cell) -> Self {
        Self(SEEDS.map(|seed| cell.run(seed)).into())
    }

    pub fn mean(&self, figure: impl Fn(&Outcome) -> f64) -> Mean {
        Mean::of(&self.0.iter().map(figure).collect::<Vec<_>>())
    }
}

/// What these stations received, in kbit/s.
pub fn kbps(outcome: &Outcome, stations: impl Fn(usize) -> bool) -> f64 {
    let all = outcome.stations.iter().enumerate();
    let some = all.filter(|(at, _)| stations(*at));
    some.map(|(_, station)| station.delivered_bps / 1e3).sum()
}

pub fn total_kbps(outcome: &Outcome) -> f64 {
    kbps(outcome, |_| true)
}

/// The standard deviation of a station's throughput over intervals of 3 s, in the mean over stations,
/// in kbit/s.
pub fn deviation_kbps(outcome: &Outcome) -> f64 {
    let deviations = outcome.stations.iter().map(|station| {
        let intervals = station.each_second_bytes.chunks_exact(INTERVAL_S);
        let kbps: Vec<f64> = intervals
            .map(|bytes| bytes.iter().sum::<u64>() as f64 * 8.0 / 1e3 / INTERVAL_S as f64)
            .collect();
        let mean = kbps.iter().sum::<f64>() / kbps.len().max(1) as f64;
        let squares: f64 = kbps.iter().map(|kbps| (kbps - mean).powi(2)).sum();
        (squares / kbps.len().max(1) as f64).sqrt()
    });
    deviations.sum::<f64>() / outcome.stations.len() as f64
}

/// The least of the stations' throughputs, in percent of their mean.
pub fn least_percent(outcome: &Outcome) -> f64 {
    let each = outcome.stations.iter().map(|station| station.delivered_bps);
    let least = each.clone().fold(f64::MAX, f64::min);
    least * 100.0 * outcome.stations.len() as f64 / each.sum::<f64>().max(1.0)
}

/// What the good stations' sources lost, in percent.
pub fn lost_by_good_percent(outcome: &Outcome) -> f64 {
    let good = &outcome.sources[1..];
    let lost: u64 = good.iter().map(|source| source.lost.packets()).sum();
    let offered: u64 = good.iter().map(|source| source.offered_packets).sum();
    lost as f64 * 100.0 / offered.max(1) as f64
}

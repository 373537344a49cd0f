//! From uploads to rows: how much longer than alone, and what a KB costs the host.

use serde_json::json;
use takt_report::Row;

use super::contender::Contender;
use super::{Case, Seen, energy};
use crate::experiment::background::figures::{mean_ns, of_transfers};
use crate::experiment::background::work::Work;
use crate::experiment::metrics::{Metrics, metrics};

/// The first contender is the foreground alone.
pub fn rows(case: &Case, all: &[(Contender, Vec<Seen>)]) -> Vec<Row> {
    let alone = &all[0].1;
    all.iter()
        .flat_map(|(contender, seen)| {
            let row = |name: String, metrics| Row {
                scheduler: contender.name().to_owned(),
                case: name,
                metrics,
            };
            let sizes = seen.iter().zip(alone).map(move |(seen, alone)| {
                let name = format!("{}-{}kb", case.name, seen.size_kb);
                row(name, of_size(case, seen, alone))
            });
            let slope = row(format!("{}-slope", case.name), of_slope(seen));
            sizes.chain([slope])
        })
        .collect()
}

fn of_size(case: &Case, seen: &Seen, alone: &Seen) -> Metrics {
    let alone_ns = mean_ns(&alone.transfers);
    let mut row = of_transfers(
        &seen.transfers,
        seen.size_kb * 1_000,
        case.wire.rate_bps(),
        alone_ns,
    );
    let runs = seen.transfers.len() as f64;
    let while_foreground = seen.transfers.iter().map(|one| one.both);
    let background: u64 = while_foreground
        .map(|both| both.bytes.saturating_sub(seen.size_kb * 1_000))
        .sum();
    row.extend(metrics([
        (
            "over_alone_own_percent",
            json!((own_ns(seen) / own_ns(alone) - 1.0) * 100.0),
        ),
        (
            "background_bytes",
            json!((background as f64 / runs).round()),
        ),
        ("host_instructions", json!((host(seen) / runs).round())),
        ("energy_model_nj", json!((energy_nj(seen) / runs).round())),
        (
            "wakeups",
            json!(
                seen.transfers
                    .iter()
                    .map(|one| one.all.work.wakeups)
                    .sum::<u64>() as f64
                    / runs
            ),
        ),
    ]));
    row
}

/// The foreground's mean time without the far end's work meanwhile.
fn own_ns(seen: &Seen) -> f64 {
    let far_end_ns: u64 = { seen.transfers.iter() }
        .map(|one| one.both.work.far_end_ns)
        .sum();
    mean_ns(&seen.transfers) - far_end_ns as f64 / seen.transfers.len() as f64
}

/// What a KB more of the foreground costs the host, until both uploads have arrived: LP-LBE's
/// figure 12.
fn of_slope(seen: &[Seen]) -> Metrics {
    let per_kb = |cost: fn(&Seen) -> f64| {
        let points: Vec<_> = seen
            .iter()
            .map(|one| (one.size_kb as f64, cost(one) / one.transfers.len() as f64))
            .collect();
        slope(&points)
    };
    metrics([
        ("host_instructions_per_kb", json!(per_kb(host).round())),
        ("energy_model_nj_per_kb", json!(per_kb(energy_nj).round())),
        ("switches_per_kb", json!(per_kb(switches))),
    ])
}

fn works(seen: &Seen) -> impl Iterator<Item = Work> {
    seen.transfers.iter().map(|one| one.all.work)
}

fn host(seen: &Seen) -> f64 {
    works(seen)
        .map(|work| work.instructions.saturating_sub(work.far_end_ns) as f64)
        .sum()
}

fn energy_nj(seen: &Seen) -> f64 {
    works(seen).map(energy::nj).sum()
}

fn switches(seen: &Seen) -> f64 {
    works(seen).map(|work| work.switches as f64).sum()
}

/// By least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mean =
        |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let along: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    along / spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope() {
        assert_eq!(slope(&[(0.0, 5.0), (10.0, 25.0), (20.0, 45.0)]), 2.0);
    }
}

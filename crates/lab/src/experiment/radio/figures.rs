//! From a cell's records to figures.

use std::time::Duration;

use serde_json::{Value, json};
use takt_report::nearest_rank;

use super::cell::{Cell, Seen};
use super::pattern::Flow;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::record::{INTERVAL, Record};

pub fn of(cell: &Cell, seen: &Seen) -> Metrics {
    let (records, air) = (&seen.played.records[..], &seen.air);
    let troubled = cell.environment.troubled();
    let rates: Vec<f64> = records
        .iter()
        .map(|record| rate_bps(record.bytes(), cell.length))
        .collect();
    let deviations: Vec<f64> = records.iter().map(deviation_bps).collect();
    // The one that moves, if one does.
    let first_intervals_bps: Vec<f64> = records.iter().take(1).flat_map(intervals_bps).collect();
    let least_bps = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let mean_bps = mean(rates.iter().copied());
    let sum_if = |wanted: &dyn Fn(usize) -> bool| -> f64 {
        let rates = rates.iter().enumerate();
        rates
            .filter(|(at, _)| wanted(*at))
            .map(|(_, rate)| rate)
            .sum()
    };
    let is_tcp = |station: usize| cell.pattern.flow(station) == Some(Flow::Tcp);
    let good = &records[troubled.min(records.len())..];
    let busy_ns: u64 = air.stations.iter().map(|station| station.busy_ns).sum();
    let troubled_ns: u64 = air
        .stations
        .iter()
        .take(troubled)
        .map(|one| one.busy_ns)
        .sum();

    let mut found = metrics([
        ("total_bps", json!(sum_if(&|_| true))),
        ("troubled_bps", json!(sum_if(&|station| station < troubled))),
        ("good_bps", json!(sum_if(&|station| station >= troubled))),
        ("tcp_bps", json!(sum_if(&is_tcp))),
        ("udp_bps", json!(sum_if(&|station| !is_tcp(station)))),
        ("stations_bps", json!(rates)),
        ("deviation_bps", json!(mean(deviations.iter().copied()))),
        ("first_intervals_bps", json!(first_intervals_bps)),
        ("stations_deviation_bps", json!(deviations)),
        (
            "least_percent",
            json!(100.0 * least_bps / mean_bps.max(1.0)),
        ),
        ("jain_index", json!(jain(&rates))),
        ("air_troubled_percent", json!(percent(troubled_ns, busy_ns))),
        ("air_busy_percent", json!(percent(busy_ns, air.length_ns))),
        ("air_gap_ns", json!(air.gap_sum_ns.checked_div(air.gaps))),
        (
            "processor_idle_percent",
            json!(seen.played.busy.idle_share_percent()),
        ),
        ("duration_ns", json!(cell.length.as_nanos() as u64)),
    ]);
    found.retain(|metric, value| !is_empty_sum(metric, value));
    if records.iter().any(|record| record.sent > 0) {
        let mut delays_ns: Vec<u64> = good
            .iter()
            .flat_map(|one| &one.delays_ns)
            .copied()
            .collect();
        delays_ns.sort_unstable();
        found.extend(metrics([
            ("loss_percent", json!(loss_percent(records))),
            ("good_loss_percent", json!(loss_percent(good))),
            (
                "good_delay_mean_ns",
                json!(mean(delays_ns.iter().map(|ns| *ns as f64))),
            ),
            ("good_delay_p50_ns", json!(nearest_rank(&delays_ns, 500))),
            ("good_delay_p99_ns", json!(nearest_rank(&delays_ns, 990))),
        ]));
    }
    found
}

/// A sum over flows or stations that do not occur in this cell.
fn is_empty_sum(metric: &str, value: &Value) -> bool {
    let sums = ["troubled_bps", "tcp_bps", "udp_bps", "air_troubled_percent"];
    sums.contains(&metric) && value.as_f64() == Some(0.0)
}

pub fn rate_bps(bytes: u64, length: Duration) -> f64 {
    8.0 * bytes as f64 / length.as_secs_f64()
}

/// Of the datagrams that were sent within the window.
fn loss_percent(records: &[Record]) -> f64 {
    let sent: u64 = records.iter().map(|record| record.sent).sum();
    let arrived: usize = records.iter().map(|record| record.delays_ns.len()).sum();
    percent(sent.saturating_sub(arrived as u64), sent)
}

fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => 100.0 * part as f64 / whole as f64,
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// Standard deviation of the throughput from interval to interval.
fn deviation_bps(record: &Record) -> f64 {
    let middle = mean(intervals_bps(record));
    mean(intervals_bps(record).map(|rate| (rate - middle).powi(2))).sqrt()
}

fn intervals_bps(record: &Record) -> impl ExactSizeIterator<Item = f64> {
    let bytes = record.bytes_per_interval.iter();
    bytes.map(|bytes| rate_bps(*bytes, INTERVAL))
}

/// 1 if all have the same, 1/n if one has everything (R. Jain, DEC-TR-301, 1984).
pub fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    if squares > 0.0 {
        sum * sum / (rates.len() as f64 * squares)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_for_equals() {
        assert_eq!(jain(&[3.0; 8]), 1.0);
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!(jain(&[]), 0.0);
    }

    #[test]
    fn a_steady_rate_does_not_deviate() {
        let record = |bytes_per_interval: Vec<u64>| Record {
            bytes_per_interval,
            ..Record::default()
        };
        assert_eq!(deviation_bps(&record(vec![3000; 5])), 0.0);
        assert_eq!(deviation_bps(&record(vec![0, 750])), 1000.0);
        assert_eq!(deviation_bps(&record(vec![])), 0.0);
    }

    #[test]
    fn what_did_not_arrive_is_lost() {
        let record = Record {
            sent: 8,
            delays_ns: vec![1; 6],
            ..Record::default()
        };
        assert_eq!(loss_percent(&[record.clone(), record]), 25.0);
        assert_eq!(loss_percent(&[]), 0.0);
    }
}

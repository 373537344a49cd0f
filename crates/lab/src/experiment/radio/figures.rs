//! What is made of a cell's records.

use serde_json::json;
use takt_report::nearest_rank;

use super::cell::Cell;
use super::pattern::Flow;
use super::record::{INTERVAL, Record};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::wlan::Statistics;

pub fn of(cell: &Cell, records: &[Record], air: &Statistics) -> Metrics {
    let length_s = cell.length.as_secs_f64();
    let troubled = cell.environment.troubled();
    let rates: Vec<f64> = records
        .iter()
        .map(|record| 8.0 * record.bytes() as f64 / length_s)
        .collect();
    let sum_if = |wanted: &dyn Fn(usize) -> bool| -> f64 {
        let rates = rates.iter().enumerate();
        rates
            .filter(|(at, _)| wanted(*at))
            .map(|(_, rate)| rate)
            .sum()
    };
    let is_tcp = |station: usize| cell.pattern.flow(station) == Flow::Tcp;
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
        (
            "deviation_bps",
            json!(mean(records.iter().map(deviation_bps))),
        ),
        ("jain_index", json!(jain(&rates))),
        ("air_troubled_percent", json!(percent(troubled_ns, busy_ns))),
        ("air_busy_percent", json!(percent(busy_ns, air.length_ns))),
        ("air_gap_ns", json!(air.gap_sum_ns.checked_div(air.gaps))),
    ]);
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
            ("good_delay_p50_ns", json!(nearest_rank(&delays_ns, 500))),
            ("good_delay_p99_ns", json!(nearest_rank(&delays_ns, 990))),
        ]));
    }
    found
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
    let rates = || {
        let bytes = record.bytes_per_interval.iter();
        bytes.map(|bytes| 8.0 * *bytes as f64 / INTERVAL.as_secs_f64())
    };
    let middle = mean(rates());
    mean(rates().map(|rate| (rate - middle).powi(2))).sqrt()
}

/// 1 if all have the same, 1/n if one has everything (R. Jain, DEC-TR-301, 1984).
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    match squares > 0.0 {
        true => sum * sum / (rates.len() as f64 * squares),
        false => 0.0,
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

//! A packet's whole way: SoCPS, section 5.2.
//!
//! One packet at a time, to one station with a good signal, so that nothing waits: from the
//! server's socket over bridge, qdisc, driver and air into the station's. The air's backoffs
//! are the same draws under every scheduler, so the difference is the processor's work. The row
//! also has all of the processor's work, taktd's reading included.

use serde_json::json;
use takt_report::{Row, nearest_rank};

use super::cell::Seen;
use crate::experiment::metrics::{Metrics, metrics};

const PATH: &str = "path_mean_ns";
/// The reference scheduler: the same qdisc, without stations.
const BASELINE: &str = "takt-fifo";

pub fn figures(seen: &Seen) -> Metrics {
    let records = &seen.played.records;
    let sent: u64 = records.iter().map(|record| record.sent).sum();
    let mut delays_ns: Vec<u64> = records
        .iter()
        .flat_map(|record| &record.delays_ns)
        .copied()
        .collect();
    delays_ns.sort_unstable();
    let sum_ns: u64 = delays_ns.iter().sum();
    let mean_ns = sum_ns as f64 / delays_ns.len().max(1) as f64;
    metrics([
        (PATH, json!(mean_ns)),
        ("path_p50_ns", json!(nearest_rank(&delays_ns, 500))),
        ("path_p99_ns", json!(nearest_rank(&delays_ns, 990))),
        ("path_max_ns", json!(delays_ns.last())),
        ("packets", json!(delays_ns.len())),
        (
            "busy_ns_per_packet",
            json!((seen.played.busy.busy.as_nanos() as u64).checked_div(sent)),
        ),
    ])
}

/// Adds to each row of one case the difference of its packets' times to the baseline's.
pub fn compare(rows: &mut [Row]) {
    let baselines: Vec<(String, f64)> = rows
        .iter()
        .filter(|row| row.scheduler == BASELINE)
        .filter_map(|row| Some((row.case.clone(), row.number(PATH)?)))
        .collect();
    for row in rows {
        let baseline = baselines.iter().find(|(case, _)| *case == row.case);
        if let (Some((_, baseline_ns)), Some(path_ns)) = (baseline, row.number(PATH)) {
            row.metrics.extend(metrics([
                (
                    "path_over_fifo_percent",
                    json!(100.0 * (path_ns - baseline_ns) / baseline_ns),
                ),
                ("path_over_fifo_ns", json!(path_ns - baseline_ns)),
            ]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_compared_with_the_same_qdiscs() {
        let row = |scheduler: &str, path_ns: f64| Row {
            scheduler: scheduler.to_owned(),
            case: "good-lone".to_owned(),
            metrics: metrics([(PATH, json!(path_ns))]),
        };
        let mut rows = [row("takt-pw", 1010.0), row("takt-fifo", 1000.0)];
        compare(&mut rows);
        assert_eq!(rows[0].metrics["path_over_fifo_percent"], json!(1.0));
        assert_eq!(rows[1].metrics["path_over_fifo_ns"], json!(0.0));
    }
}

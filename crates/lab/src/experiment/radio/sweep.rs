//! One flight through all strengths of the first station, a row for each.

use serde_json::json;
use takt_report::Row;

use super::cell::{Cell, Seen};
use super::environment::{SWEEP_DB, SWEEP_STEP};
use super::figures::{jain, rate_bps};
use super::record::{INTERVAL, Record};
use crate::experiment::metrics::metrics;

/// Of each step, how many intervals pass before figures count: the queue of the step
/// before is to be gone.
const SETTLING: usize = 1;

pub fn rows(cell: &Cell, seen: &Seen) -> Vec<Row> {
    let step_ns = SWEEP_STEP.as_nanos() as u64;
    let first = (seen.window.begin_ns.saturating_sub(seen.began_ns) / step_ns) as usize;
    let intervals = (step_ns / INTERVAL.as_nanos() as u64) as usize;
    let counted = cell.length.as_nanos() as usize / step_ns as usize;
    let mut rows: Vec<(i32, Row)> = (0..counted)
        .map(|step| {
            let snr_db = SWEEP_DB[(first + step) % SWEEP_DB.len()];
            let from = step * intervals;
            let row = row(
                cell,
                snr_db,
                &seen.played.records,
                from + SETTLING,
                from + intervals,
            );
            (snr_db, row)
        })
        .collect();
    rows.sort_by_key(|(snr_db, _)| *snr_db);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(cell: &Cell, snr_db: i32, records: &[Record], from: usize, to: usize) -> Row {
    let rates: Vec<f64> = records
        .iter()
        .map(|record| record.bytes_per_interval.get(from..to).unwrap_or_default())
        .map(|bytes| rate_bps(bytes.iter().sum(), INTERVAL * (to - from) as u32))
        .collect();
    let (troubled, good) = rates.split_at(cell.environment.troubled().min(rates.len()));
    Row {
        scheduler: cell.contender.name().to_owned(),
        case: format!("{}-{snr_db}dB", cell.case()),
        metrics: metrics([
            ("snr_db", json!(snr_db)),
            ("total_bps", json!(rates.iter().sum::<f64>())),
            ("troubled_bps", json!(troubled.iter().sum::<f64>())),
            ("good_bps", json!(good.iter().sum::<f64>())),
            ("stations_bps", json!(rates)),
            ("jain_index", json!(jain(&rates))),
        ]),
    }
}

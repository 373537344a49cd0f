//! One run through all strengths of the first station, a row for each.

use serde_json::json;
use takt_report::Row;

use super::cell::{Cell, Seen};
use super::environment::{SWEEP_DB, SWEEP_STEP};
use super::figures::{jain, rate_bps};
use crate::experiment::metrics::metrics;
use crate::experiment::record::{INTERVAL, Record};

/// The intervals of each step before figures count: the queue of the step before has to be
/// gone.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::experiment::load::Busy;
    use crate::experiment::radio::contender::Contender;
    use crate::experiment::radio::environment::Environment;
    use crate::experiment::radio::pattern::Pattern;
    use crate::experiment::radio::play::Played;
    use crate::experiment::record::Window;
    use crate::experiment::wlan::Statistics;

    #[test]
    fn a_row_has_the_intervals_of_its_strength() {
        let step_ns = SWEEP_STEP.as_nanos() as u64;
        let length = SWEEP_STEP * 2;
        let cell = Cell {
            profile: Cell::WAVELAN,
            environment: Environment::Sweep,
            pattern: Pattern::Cbr,
            contender: Contender::PW,
            length,
        };
        let (began_ns, begin_ns) = (7, 7 + 10 * step_ns);
        let seen = Seen {
            played: Played {
                records: vec![Record {
                    // The first of each four belongs to the step before.
                    bytes_per_interval: vec![999, 3, 3, 3, 999, 6, 6, 6],
                    ..Record::default()
                }],
                busy: Busy {
                    elapsed: length,
                    busy: Duration::ZERO,
                    timer_interrupts: 0,
                    idle_entries: 0,
                },
            },
            air: Statistics::default(),
            window: Window {
                warm_up_ns: begin_ns,
                begin_ns,
                end_ns: begin_ns + length.as_nanos() as u64,
            },
            began_ns,
        };
        let rows = rows(&cell, &seen);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.case.as_str(), row.number("total_bps")))
            .collect();
        // The eleventh strength, and then the first again.
        assert_eq!(
            told,
            [("sweep-cbr-0dB", Some(16.0)), ("sweep-cbr-15dB", Some(8.0))]
        );
    }
}

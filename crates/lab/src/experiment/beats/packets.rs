//! What a packet from outside costs (HiTactix, table 4): above the beats, where it interrupts a job,
//! and in all, from its sender to its receiver. Both are differences to the same case without packets.

use serde_json::json;
use takt_report::Row;

use super::load::Load;
use super::program::PAYLOAD_BYTES;
use super::storm::{self, JOB_MEAN};

/// How much longer a job takes for each packet that comes meanwhile.
const ABOVE: &str = "packet_above_ns";
/// How much less ordinary threads get for each packet.
const ALL: &str = "packet_all_ns";
/// At these all packets arrive.
const LOADS: [Load; 2] = [Load::Rate(300), Load::Rate(600)];

/// Adds both to the rows of storms.
pub fn compare(rows: &mut [Row]) {
    for threaded in [false, true] {
        let calm = storm::case(Load::Rate(0), threaded);
        let calm: Vec<Row> = rows
            .iter()
            .filter(|row| row.case == calm)
            .cloned()
            .collect();
        for load in LOADS {
            let case = storm::case(load, threaded);
            for row in rows.iter_mut().filter(|row| row.case == case) {
                let calm = calm.iter().find(|calm| calm.scheduler == row.scheduler);
                if let Some((above_ns, all_ns)) = calm.and_then(|calm| costs_ns(calm, row)) {
                    row.metrics
                        .insert(ABOVE.to_owned(), json!(above_ns.round()));
                    row.metrics.insert(ALL.to_owned(), json!(all_ns.round()));
                }
            }
        }
    }
}

fn costs_ns(calm: &Row, row: &Row) -> Option<(f64, f64)> {
    let packets_per_ns = row.number("received_bps")? / (8e9 * PAYLOAD_BYTES as f64);
    let job_ns = row.number(JOB_MEAN)?;
    let longer_ns = job_ns - calm.number(JOB_MEAN)?;
    let share = |row: &Row| {
        row.number("ordinary_share_percent")
            .map(|percent| percent / 100.0)
    };
    let above_ns = longer_ns / (packets_per_ns * job_ns);
    Some((above_ns, (share(calm)? - share(row)?) / packets_per_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::metrics::metrics;

    #[test]
    fn costs_are_differences_to_the_case_without_packets() {
        let row = |case: &str, received_bps: u64, job_ns: u64, share: f64| Row {
            scheduler: "takt".to_owned(),
            case: case.to_owned(),
            metrics: metrics([
                ("received_bps", json!(received_bps)),
                (JOB_MEAN, json!(job_ns)),
                ("ordinary_share_percent", json!(share)),
            ]),
        };
        // A packet in 2 ms.
        let rate_bps = 8 * PAYLOAD_BYTES as u64 * 500;
        let mut rows = [
            row("storm-0", 0, 6_000_000, 40.0),
            row("storm-600", rate_bps, 6_030_000, 38.0),
            row("storm-600-threaded", rate_bps, 6_030_000, 38.0),
        ];
        compare(&mut rows);
        assert_eq!(rows[1].metrics[ABOVE], json!(9950.0));
        assert_eq!(rows[1].metrics[ALL], json!(40_000.0));
        assert!(!rows[0].metrics.contains_key(ABOVE));
        assert!(!rows[2].metrics.contains_key(ABOVE));
    }
}

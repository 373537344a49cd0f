//! The rows every experiment produces. This is the JSON that
//! `takt lab run NAME --output json` prints, so field names are a contract.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One run of one experiment: every scheduler, every case, the same boot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `pacing`, `cost`, …
    pub experiment: String,
    /// Release of the kernel that ran it, as `uname -r` prints it.
    pub kernel: String,
    /// `virtual`: one instruction is one nanosecond; figures are that machine's.
    pub clock: String,
    /// The command that reproduces this report.
    pub command: String,
    /// Commit of the source tree the program was built from.
    pub commit: String,
    /// What was measured, in the order of measuring.
    pub rows: Vec<Row>,
}

/// One scheduler in one case. Every metric's name ends in its unit
/// (`rate_error_ppm`, `spacing_error_p99_ns`) or counts things
/// (`packets_lost`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Takt or a peer, with its settings.
    pub scheduler: String,
    /// The case.
    pub case: String,
    /// By name, which ends in the unit.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, serde_json::Value>,
}

impl Report {
    /// As `--output json` prints it and docs/results keeps it: one row a line, so that a new
    /// run changes only the lines of what it measured.
    pub fn json(&self) -> serde_json::Result<String> {
        let head = serde_json::to_string(&Report {
            rows: Vec::new(),
            ..self.clone()
        })?;
        let rows = self.rows.iter().map(serde_json::to_string);
        let rows: Vec<String> = rows.collect::<Result<_, _>>()?;
        let head = head.trim_end_matches("]}");
        Ok(format!("{head}\n{}\n]}}\n", rows.join(",\n")))
    }
}

impl Row {
    /// The metric as a finite number, if there is one.
    pub fn number(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric)?.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_one_row_a_line_and_reads_back() {
        let row = |case: &str| Row {
            scheduler: "takt".to_owned(),
            case: case.to_owned(),
            metrics: BTreeMap::from([("packets".to_owned(), 3.into())]),
        };
        let mut report = Report {
            experiment: "cost".to_owned(),
            kernel: "6.18".to_owned(),
            clock: "virtual".to_owned(),
            command: "takt lab run cost".to_owned(),
            commit: "abc".to_owned(),
            rows: vec![row("one"), row("two")],
        };
        let json = report.json().unwrap();
        assert_eq!(json.lines().count(), 4, "{json}");
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
        report.rows.clear();
        let json = report.json().unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }
}

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
    /// What it was put to.
    pub case: String,
    /// By name, which ends in the unit.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, serde_json::Value>,
}

impl Row {
    /// The metric as a finite number, if it is there and is one.
    pub fn number(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric)?.as_f64()
    }
}

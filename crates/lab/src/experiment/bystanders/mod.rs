//! Does Takt make other work of the host, or other traffic of the link, worse?
//!
//! [`gateway`]: a home's gateway whose link has nothing but a rate. [`host`]: ordinary programs
//! while beats are loaded that no thread joins.

mod gateway;
mod host;

use takt_report::Row;

use super::bench::Bench;
use super::error::Result;

/// Gateways are measured on one processor only.
pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let cpus = host::cpus();
    let mut rows = Vec::new();
    if cpus == 1 {
        rows.extend(gateway::run(bench)?);
    }
    rows.extend(host::run(bench, cpus)?);
    Ok(rows)
}

//! What throughput do terminals that share the air achieve together, and how long do their
//! packets wait?
//!
//! The setting that the cooperative middleware (docs/papers.md) proposed and did not measure:
//! terminals upload to a server behind an access point, over real TCP on an emulated 802.11g.
//! From the bottom: [`case`] describes the traffic, [`contender`] what limits the data in
//! flight, [`group`] sets terminals up with Takt; [`probe`] records TCP's measurements,
//! [`recorder`] what `takt flows` sees; [`play`] runs all flows at once; [`cell`] is one
//! combination, [`figures`] its figures, and [`plan`] the list of cells.

mod case;
mod cell;
mod contender;
mod figures;
mod group;
mod plan;
mod play;
mod probe;
mod recorder;

use takt_report::Row;

use super::bench::Bench;
use super::error::{ExperimentError, Result};

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let cells = if bench.short {
        plan::short()
    } else {
        plan::full()
    };
    let mut rows = Vec::new();
    for cell in cells {
        match cell.measure(bench.takt()) {
            Ok(row) => rows.push(row),
            // The figures of half an hour are not to be lost for one failure.
            Err(error) => eprintln!("it is left out: {error}"),
        }
    }
    if rows.is_empty() {
        Err(ExperimentError::NoCell)
    } else {
        Ok(rows)
    }
}

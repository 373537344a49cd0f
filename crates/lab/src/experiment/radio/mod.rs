//! What does a station with a weak signal cost the others, under each scheduler?
//!
//! The experiment of SoCPS, section 5, on an emulated medium: a server on a wire sends to eight
//! stations on the air. From the bottom: [`environment`] has the stations' signals, [`pattern`]
//! the traffic, [`contender`] the schedulers, with a [`daemon`](super::daemon) that reads the
//! stations' signals, or their own ([`clients`]); [`udp`] and [`bulk`](super::bulk) are the
//! flows, [`play`] runs all of them at once; [`cell`] is one combination. Figures are made in
//! [`figures`], or in [`sweep`], [`follow`] and [`forward`] for other questions. [`plan`] is
//! the list of cells.

mod cell;
mod clients;
mod contender;
mod environment;
mod figures;
mod follow;
mod forward;
mod pattern;
mod plan;
mod play;
mod sweep;
mod udp;

pub use figures::{jain, rate_bps};

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
        match cell.measure(bench.takt(), bench.seed) {
            Ok(found) => rows.extend(found),
            Err(missing @ ExperimentError::Unsupported { .. }) => {
                eprintln!("{} is left out: {missing}", cell.contender.name());
            }
            Err(error) => return Err(error),
        }
    }
    forward::compare(&mut rows);
    Ok(rows)
}

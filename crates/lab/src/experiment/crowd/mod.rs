//! What do terminals that share the air achieve together, and how long do their packets wait?
//!
//! What paper 001 proposed and left unmeasured: terminals upload to a server behind an access
//! point, over real TCP on an emulated 802.11g. From the bottom: [`case`] says who sends what
//! when, [`contender`] who decides how much is in flight, [`group`] how terminals get Takt; [`probe`] hears what TCP measures,
//! [`recorder`] what `takt flows` sees; [`play`] is all flows at once; [`cell`] is one of each for
//! as long as it takes, [`figures`] what is made of it. [`plan`] says which cells there are.

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
    let cells = match bench.short {
        true => plan::short(),
        false => plan::full(),
    };
    let mut rows = Vec::new();
    for cell in cells {
        match cell.measure(bench.takt()) {
            Ok(row) => rows.push(row),
            // Half an hour of others' figures is not to be lost for one.
            Err(error) => eprintln!("it is left out: {error}"),
        }
    }
    match rows.is_empty() {
        true => Err(ExperimentError::NoCell),
        false => Ok(rows),
    }
}

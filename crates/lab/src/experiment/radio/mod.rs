//! What does a station that hears badly cost the others, under each scheduler?
//!
//! The experiment of paper 003, section 5, on an emulated medium: a server on a
//! wire sends to eight stations on the air. From the bottom: [`environment`] says
//! how the stations hear, [`pattern`] what they are sent, [`contender`] who
//! schedules, with a [`daemon`](super::daemon) that tells it how stations hear, or their own
//! ([`clients`]); [`udp`] and [`bulk`](super::bulk) are the traffic, [`play`] all of it at once;
//! [`cell`] is one of each for as long as it takes. What is made of it: [`figures`],
//! or [`sweep`], [`follow`] and [`forward`] where the question is another. [`plan`]
//! says which cells there are.

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
    let cells = match bench.short {
        true => plan::short(),
        false => plan::full(),
    };
    let mut rows = Vec::new();
    for cell in cells {
        match cell.measure(bench.takt()) {
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

//! What does a station that hears badly cost the others, under each scheduler?
//!
//! The experiment of paper 003, section 5, on an emulated medium: a server on a
//! wire sends to eight stations on the air. From the bottom: [`environment`] says
//! how the stations hear, [`pattern`] what they are sent, [`contender`] who
//! schedules, with a [`daemon`] that tells it how stations hear; [`udp`] and [`tcp`] are the traffic, [`cell`] is one of each for as
//! long as it takes, and [`figures`] what is made of it.

mod cell;
mod contender;
mod daemon;
mod environment;
mod figures;
mod pattern;
mod record;
mod tcp;
mod udp;

use std::time::Duration;

use takt_report::Row;

use self::cell::Cell;
use self::contender::Contender;
use self::environment::Environment;
use self::pattern::Pattern;
use super::bench::Bench;
use super::error::{ExperimentError, Result};

/// As long as the paper's.
const LENGTH: Duration = Duration::from_secs(300);
const LENGTH_SHORT: Duration = Duration::from_secs(10);

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let (cells, contenders, length) = match bench.short {
        true => (short(), &Contender::SHORT[..], LENGTH_SHORT),
        false => (full(), &Contender::ALL[..], LENGTH),
    };
    let mut rows = Vec::new();
    for (environment, pattern) in cells {
        for contender in contenders.iter().copied() {
            let cell = Cell {
                environment,
                pattern,
                contender,
                length,
            };
            match cell.measure(bench.takt()) {
                Ok(row) => rows.push(row),
                Err(missing @ ExperimentError::Unsupported { .. }) => {
                    eprintln!("{} is left out: {missing}", contender.name());
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(rows)
}

/// The paper's, and more stations that hear badly. A cell of 300 s takes a few
/// minutes of the host's time, so not everything is combined with everything.
fn full() -> Vec<(Environment, Pattern)> {
    let bad = |stations| Environment::Bad { stations };
    vec![
        (Environment::Good, Pattern::Tcp),
        (Environment::Good, Pattern::Voip),
        (bad(1), Pattern::Tcp),
        (bad(1), Pattern::Voip),
        (bad(1), Pattern::Cbr),
        (bad(1), Pattern::Mixed),
        (bad(2), Pattern::Cbr),
        (bad(4), Pattern::Cbr),
        (bad(6), Pattern::Cbr),
        (Environment::Moving, Pattern::Tcp),
    ]
}

fn short() -> Vec<(Environment, Pattern)> {
    vec![
        (Environment::Bad { stations: 1 }, Pattern::Cbr),
        (Environment::Bad { stations: 1 }, Pattern::Mixed),
    ]
}

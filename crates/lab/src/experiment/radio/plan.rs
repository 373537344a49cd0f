//! The cells and their lengths.
//!
//! The emulated processor takes most of a second of the host's for a second of CBR, and a third
//! for one of VoIP. All environments, patterns and schedulers for 300 s would take half a day.
//! So every scheduler is measured where they differ (one station with a weak signal), elsewhere
//! only those that a question is about, and 300 s only where the question is their effect (all
//! good, VoIP). One station's SNR goes through all of the sweep in one run.

use std::time::Duration;

use super::cell::Cell;
use super::contender::{Contender, Weights};
use super::environment::{Environment, STAY, SWEEP_DB, SWEEP_STEP};
use super::pattern::Pattern;

const FIFO: Contender = Contender::Fifo;
const PW: Contender = Contender::PW;
const TAKT_FIFO: Contender = Contender::Takt(Weights::None);
/// PW, from a file at once, or from reports over the air.
const REPORTS: [Contender; 3] = [
    PW,
    Contender::Reported { interval_ms: 200 },
    Contender::Reported { interval_ms: 20 },
];
/// The medium's card from before the standard.
const CLASSIC: &str = "wavelan-classic";

const fn bad(stations: usize) -> Environment {
    Environment::Bad { stations }
}

pub fn full() -> Vec<Cell> {
    use Environment::{Approaching, Good, Moving, Stepping, Sweep};
    let sweep_s = SWEEP_STEP.as_secs() * SWEEP_DB.len() as u64;
    let few = [PW, FIFO, Contender::Airtime];
    let some = [
        PW,
        Contender::Takt(Weights::GoodBad(12)),
        Contender::Takt(Weights::GoodBad(1)),
        FIFO,
        Contender::FqCodel,
        Contender::Cake,
        Contender::Airtime,
    ];
    // The same FIFO once more.
    let all = Contender::ALL;
    let all: Vec<_> = all.into_iter().filter(|one| *one != TAKT_FIFO).collect();
    let mut cells = Vec::new();
    let mut add = |environment, pattern, seconds, contenders: &[Contender]| {
        cells.extend(contenders.iter().map(|contender| Cell {
            profile: Cell::WAVELAN,
            environment,
            pattern,
            contender: *contender,
            length: Duration::from_secs(seconds),
        }));
    };
    add(Good, Pattern::Lone, 15, &[PW, TAKT_FIFO, FIFO]);
    add(bad(1), Pattern::Cbr, 15, &Contender::ALL);
    add(bad(1), Pattern::Mixed, 24, &all);
    add(bad(1), Pattern::Voip, 12, &all);
    add(bad(1), Pattern::Tcp, 21, &some);
    add(Sweep, Pattern::Cbr, sweep_s, &[PW, FIFO]);
    for stations in [2, 4, 6] {
        add(bad(stations), Pattern::Cbr, 9, &few);
    }
    // All weights are one: the laws do not differ.
    add(Good, Pattern::Tcp, 30, &few);
    add(Good, Pattern::Voip, 300, &[PW, FIFO]);
    add(Stepping, Pattern::Cbr, 10 * STAY.as_secs(), &[PW]);
    add(Moving, Pattern::Tcp, 120, &[PW, FIFO]);
    // Nine taktds take several seconds of the host's time for one.
    add(Approaching, Pattern::Tcp, 15, &REPORTS);
    cells.extend([PW, FIFO].map(|contender| Cell {
        profile: CLASSIC,
        environment: bad(1),
        pattern: Pattern::Cbr,
        contender,
        length: Duration::from_secs(15),
    }));
    cells
}

/// Calls and downloads beside one station with a weak signal: about half a minute.
pub fn short() -> Vec<Cell> {
    let cell = |contender| Cell {
        profile: Cell::WAVELAN,
        environment: bad(1),
        pattern: Pattern::Mixed,
        contender,
        length: Duration::from_secs(3),
    };
    [PW, FIFO, Contender::Airtime].map(cell).into()
}

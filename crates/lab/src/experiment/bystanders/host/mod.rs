//! Ordinary programs on the kernel's own class, and on Takt's scheduler while no thread uses it.
//!
//! [`contender`] loads and unloads Takt; [`hackbench`], [`wakeups`] and [`build`] are the
//! programs, and [`figures`] their rows. A round has every program on every contender, so that
//! slow changes affect all of them.
//!
//! Several processors take turns in virtual time. So the time until a program has finished is
//! that of all processors' instructions together and of what all of them were idle: it shows
//! what a scheduler costs, but not that one processor idles while threads wait for another.
//! Wake-up latencies show that.

mod build;
mod contender;
mod figures;
mod hackbench;
mod wakeups;

use std::num::NonZeroUsize;

use takt_report::Row;

use self::contender::Contender;
use self::figures::{Figures, Sample};
use crate::experiment::bench::Bench;
use crate::experiment::error::Result;

/// A program, and how its threads are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Hackbench(hackbench::Mode),
    Wakeups(wakeups::Load),
    Build,
}

impl Program {
    const ALL: [Self; 5] = [
        Self::Hackbench(hackbench::Mode::Processes),
        Self::Hackbench(hackbench::Mode::Threads),
        Self::Build,
        Self::Wakeups(wakeups::Load::Partial),
        Self::Wakeups(wakeups::Load::Over),
    ];

    fn case(self, cpus: usize) -> String {
        let name = match self {
            Self::Hackbench(mode) => mode.case(),
            Self::Wakeups(load) => load.case(),
            Self::Build => "build",
        };
        format!("host-{name}-{cpus}cpu")
    }

    fn run(self, cpus: usize, short: bool) -> Result<Sample> {
        match self {
            Self::Hackbench(mode) => hackbench::run(mode, short).map(Sample::Finished),
            Self::Wakeups(load) => Ok(Sample::Woken(wakeups::run(load, cpus, short))),
            Self::Build => build::run(cpus, short).map(Sample::Finished),
        }
    }
}

/// The machine's online processors.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

pub fn run(bench: &Bench, cpus: usize) -> Result<Vec<Row>> {
    let rounds = if bench.short { 1 } else { 5 };
    let mut figures = Figures::default();
    // Its files are read from now on, and its pages shared.
    build::run(cpus, true)?;
    for round in 1..=rounds {
        for contender in Contender::ALL {
            let name = contender.name();
            eprintln!("bystanders: {name}, host-*-{cpus}cpu, round {round} of {rounds}");
            let _loaded = contender.load(bench.takt())?;
            for program in Program::ALL {
                let sample = program.run(cpus, bench.short)?;
                figures.add(name, program.case(cpus), sample);
            }
        }
    }
    Ok(figures.rows())
}

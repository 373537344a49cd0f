//! The program `takt-suite`, which scripts/test runs: all tests of this repository, several programs
//! beside each other, and a report.
//!
//! [`all`], [`quick`], [`long`] and [`stress`] are kinds of runs. [`suite`] is what they consist of, with the
//! processes in [`children`] and the commands in [`cargo`] and [`git`]. The rest decides only:
//! [`program`] finds the test programs among cargo's messages, [`queue`] says which begins next,
//! [`said`] reads their output and [`report`] adds it up. [`round`] is what a commit decides about
//! its tests, [`ledger`] and [`baseline`] what the laboratory's took, [`cases`] those that no change
//! may lose, [`modules`] the laboratory's, [`progress`] what is done of a long run, and [`figures`]
//! what tests print. [`affected`] packages and the tests that [`tells`] names are a quick run's.

mod affected;
mod all;
mod args;
mod baseline;
mod cargo;
mod cases;
mod children;
mod figures;
mod git;
mod ledger;
mod long;
mod modules;
mod program;
mod progress;
mod queue;
mod quick;
mod report;
mod round;
mod said;
mod stress;
mod suite;
mod tells;

use std::process::ExitCode;

use args::{Args, What};
use children::Interrupted;
use clap::Parser;

/// A shell adds the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("takt-suite: {error:#}");
            let status = error
                .downcast_ref()
                .map(|Interrupted(signal)| BY_SIGNAL + signal);
            status
                .and_then(|status| u8::try_from(status).ok())
                .map_or(ExitCode::FAILURE, ExitCode::from)
        }
    }
}

/// Whether all went well.
fn run(args: &Args) -> anyhow::Result<bool> {
    match &args.what {
        What::All => all::run(true),
        What::Check => all::run(false),
        What::Quick { base } => quick::run(base.as_deref()),
        What::Long { fresh } => long::run(*fresh),
        What::Stress { rounds } => stress::run(*rounds),
        What::Baseline => all::record(),
    }
}

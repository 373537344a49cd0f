//! The command line.

use clap::{Parser, Subcommand};

/// Run Takt's tests: scripts/test calls this.
#[derive(Debug, Parser)]
#[command(name = "takt-suite", version)]
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

/// What is run.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Format, lints, and every test
    All,
    /// Format, lints, and every test that needs no virtual machine
    Check,
    /// The tests that tell most about what changed, in a few minutes
    Quick {
        /// Changed since this commit; else since upstream's, or the newest tag, or HEAD
        #[arg(long, value_name = "COMMIT")]
        base: Option<String>,
    },
    /// Every case in full; goes on where it stopped
    Long {
        /// Begin anew
        #[arg(long)]
        fresh: bool,
    },
    /// The laboratory several times on a busy host; shows verdicts and figures that differ
    Stress {
        /// How many times
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=100))]
        rounds: u32,
    },
    /// Make what the laboratory took in the last run of everything the baseline
    Baseline,
}

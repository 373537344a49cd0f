//! The program `takt-fleet`, which `takt fleet` runs: one policy for many hosts.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run().into()
}

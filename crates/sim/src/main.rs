//! The program `takt-sim`, which `takt sim` runs: what a policy does to traffic.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run().into()
}

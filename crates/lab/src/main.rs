//! The program `takt-lab`, which `takt lab` runs: emulated machines and the experiments in them.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // In the lab's machine this very program is the first process.
    if takt_lab::guest::is_init() {
        takt_lab::guest::init();
    }
    cli::run()
}

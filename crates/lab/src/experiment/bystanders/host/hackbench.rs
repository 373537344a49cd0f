//! rt-tests' hackbench: groups of senders and receivers over socket pairs.

use crate::experiment::command::{self, HACKBENCH};
use crate::experiment::error::{ExperimentError, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Processes,
    Threads,
}

impl Mode {
    pub fn case(self) -> &'static str {
        match self {
            Self::Processes => "hackbench-processes",
            Self::Threads => "hackbench-threads",
        }
    }

    fn option(self) -> &'static str {
        match self {
            Self::Processes => "--process",
            Self::Threads => "--threads",
        }
    }
}

/// Nanoseconds until all messages have arrived.
pub fn run(mode: Mode, short: bool) -> Result<u64> {
    let loops = if short { "300" } else { "1000" };
    let words = [
        mode.option(),
        "--groups",
        "2",
        "--fds",
        "5",
        "--loops",
        loops,
    ];
    let printed = command::run(HACKBENCH, &words)?;
    time_ns(&printed).ok_or_else(|| ExperimentError::Output {
        command: "hackbench".to_owned(),
        reason: format!("no time in {printed:?}"),
    })
}

fn time_ns(printed: &str) -> Option<u64> {
    let seconds = printed
        .lines()
        .find_map(|line| line.strip_prefix("Time: "))?;
    Some((seconds.trim().parse::<f64>().ok()? * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_in_seconds() {
        let printed = "Running in process mode\nTime: 0.250\n";
        assert_eq!(time_ns(printed), Some(250_000_000));
        assert_eq!(time_ns("Running in process mode\n"), None);
    }
}

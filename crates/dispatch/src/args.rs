//! What can be typed behind `takt dispatch`.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Run a policy's time-slot tables on a kernel that cannot load a scheduler: one
/// without sched_ext, or with PREEMPT_RT. Threads have SCHED_FIFO in their slots, and are ordinary
/// threads outside of them.
#[derive(Debug, Parser)]
#[command(
    name = "takt-dispatch",
    bin_name = "takt dispatch",
    version,
    after_help = "Examples:\n  takt dispatch check policy.toml\n  takt dispatch run policy.toml\n  \
                  takt dispatch status --output json"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// What to print: text for people, or JSON for programs.
    #[arg(long, value_enum, default_value_t, global = true)]
    pub output: Output,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the tables until SIGTERM or SIGINT; then restore every thread.
    Run {
        /// The policy: a file, or a directory of files. Its links are ignored.
        policy: PathBuf,
        /// The SCHED_FIFO priority of the dispatcher; the threads have one less in their slots. 70
        /// is above the kernel's threads for interrupts, 50.
        #[arg(long, default_value_t = 70, value_parser = clap::value_parser!(u8).range(2..=98))]
        priority: u8,
    },
    /// Print the tables that `run` would use, and change nothing.
    Check {
        /// The policy: a file, or a directory of files.
        policy: PathBuf,
    },
    /// Show the running tables, and how exact they are.
    Status,
    /// Restore threads that a dispatcher left with the settings of their slots. `run` does
    /// so when it ends; this is for one that was killed with its supervisor.
    Release,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Text,
    Json,
}

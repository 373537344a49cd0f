//! What can be typed behind `takt dispatch`.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Keep a policy's time-slot tables on a kernel that cannot load a scheduler: one without
/// sched_ext, or with PREEMPT_RT. The threads have SCHED_FIFO in their slots, and are ordinary
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
    /// Keep the tables until SIGTERM or SIGINT; then every thread is again as it was.
    Run {
        /// The policy: a file, or a directory of files. Its links are not looked at.
        policy: PathBuf,
        /// The SCHED_FIFO priority of the dispatcher; the threads have one less in their slots. 70
        /// is above the kernel's threads for interrupts, 50.
        #[arg(long, default_value_t = 70, value_parser = clap::value_parser!(u8).range(2..=98))]
        priority: u8,
    },
    /// Print the tables that `run` would keep, and change nothing.
    Check {
        /// The policy: a file, or a directory of files.
        policy: PathBuf,
    },
    /// What is kept now, and how well.
    Status,
    /// Restore threads that a dispatcher left as they were in their slots. `run` does it by itself
    /// when it ends; this is for one that was killed with its supervisor.
    Release,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Text,
    Json,
}

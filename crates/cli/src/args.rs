//! The command line.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed
  2  the policy or the arguments are wrong
  3  the kernel or the privileges lack something
  4  the host was changed by someone else";

/// Gives every packet its moment: one policy file, an unmodified kernel.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// How to print results.
    #[arg(long, global = true, value_enum, default_value_t)]
    pub output: Output,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read a policy and say what is wrong with it; the host is not touched.
    #[command(after_help = "Example:\n  takt check examples/media-server.toml")]
    Check {
        /// The policy.
        file: PathBuf,
    },

    /// Make this host follow a policy: all of it, or nothing.
    ///
    /// Devices that an earlier policy named and this one does not are given
    /// back. Classes that stay keep their queues; nothing queued is lost.
    #[command(
        after_help = "Examples:\n  takt apply policy.toml --dry-run\n  takt apply policy.toml --confirm 120s"
    )]
    Apply {
        /// The policy.
        file: PathBuf,
        /// Say what would be done, and do nothing.
        #[arg(long)]
        dry_run: bool,
        /// Take the place of a qdisc that somebody else set up; `revert` puts
        /// it back.
        #[arg(long)]
        replace: bool,
        /// Restore what was before, unless Enter is pressed within this time
        /// (such as 120s or 2m). It is restored even if takt is killed.
        #[arg(long, value_name = "TIME", value_parser = patience, conflicts_with = "dry_run")]
        confirm: Option<Duration>,
    },

    /// Show the managed links and their classes, with counters.
    #[command(
        after_help = "Examples:\n  takt status --flows\n  takt status --output json | jq '.links[].classes[].name'"
    )]
    Status {
        /// Also show every flow that has clocks of its own.
        #[arg(long)]
        flows: bool,
    },

    /// Give every device of this network namespace back as it was found.
    Revert,

    /// Try each feature on the running kernel and say what is missing.
    Doctor,

    /// Explain an error code, such as `takt::policy::unknown_key`.
    #[command(after_help = "Example:\n  takt explain policy::unknown_key")]
    Explain {
        /// The code, with or without the leading `takt::`.
        code: String,
    },

    /// Do for links what BPF cannot: keep them in stock of gap frames, and come from
    /// an idle processor for what the background's gate holds elsewhere.
    ///
    /// `takt apply` starts one of these by itself, which ends when no link needs
    /// it. In the foreground it is for init systems, and stays. Each network
    /// namespace has one.
    #[command(after_help = "Example:\n  takt feed")]
    Feed {
        /// End when no link needs it.
        #[arg(long, hide = true)]
        while_needed: bool,
    },

    /// What `apply --confirm` leaves behind to restore the state before.
    #[command(hide = true)]
    Guard,

    /// Boot a real kernel in an emulator and try Takt there.
    #[command(subcommand)]
    Lab(Lab),
}

#[derive(Debug, Subcommand)]
pub enum Lab {
    /// List the kernels the lab can boot.
    Kernels {
        /// Fetch these, too: `default`, `newest`, or a version such as 6.18.
        fetch: Vec<String>,
    },

    /// Run a command as root in a fresh kernel; its output and status are this
    /// command's.
    #[command(
        after_help = "Examples:\n  takt lab exec -- tc qdisc show\n  takt lab exec --kernel newest \
                      --add policy.toml -- sh -c 'takt apply /add/policy.toml && takt status'"
    )]
    Exec {
        #[command(flatten)]
        machine: Machine,
        /// Processors. One runs in virtual time; more run in host time.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
        smp: u32,
        /// Put a file, with the libraries it needs, into /add.
        #[arg(long, value_name = "FILE")]
        add: Vec<PathBuf>,
        /// The network the command finds.
        #[arg(long, value_enum, default_value_t)]
        net: Net,
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },

    /// Run an experiment: Takt and its peers, one after the other.
    #[command(
        after_help = "Examples:\n  takt lab run tour\n  takt lab run pacing --kernel newest \
                      --output json"
    )]
    Run {
        /// `pacing`, `cost`, or `tour` for a short run of all.
        name: String,
        #[command(flatten)]
        machine: Machine,
        /// A short run, of about a minute.
        #[arg(long)]
        short: bool,
    },

    /// The part of `lab run` that runs inside the machine.
    #[command(hide = true)]
    Guest {
        name: String,
        #[arg(long)]
        short: bool,
    },

    /// A program that an experiment in the machine starts: it connects the
    /// socket that is its standard input, and sends.
    #[command(hide = true)]
    Send {
        #[arg(long)]
        port: u16,
        #[arg(long)]
        bytes: u64,
        /// Bytes written at once.
        #[arg(long)]
        piece: usize,
        #[arg(long, allow_hyphen_values = true)]
        nice: i32,
    },
}

#[derive(Debug, Args)]
pub struct Machine {
    /// `default`, `newest`, or a version such as 6.18.
    #[arg(long)]
    pub kernel: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum Net {
    /// Namespaces a (10.0.0.1) and b (10.0.0.2), joined by a veth pair.
    #[default]
    Pair,
}

/// A time to wait: a whole number of seconds or minutes.
fn patience(text: &str) -> Result<Duration, String> {
    let seconds = match (text.strip_suffix('s'), text.strip_suffix('m')) {
        (Some(seconds), _) => seconds.parse::<u32>().ok(),
        (_, Some(minutes)) => minutes.parse::<u32>().ok().and_then(|m| m.checked_mul(60)),
        _ => None,
    };
    match seconds {
        Some(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds.into())),
        _ => Err("write a time from 1s to 1440m, such as 120s or 2m".to_owned()),
    }
}

impl Machine {
    /// The kernel by name; `None` is the default one, spelled out or not.
    pub fn named(self) -> Option<String> {
        self.kernel.filter(|name| name != "default")
    }
}

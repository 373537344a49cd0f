//! What can be typed behind `takt lab`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use takt_lab::{
    experiment::{self, GatewayChoice},
    guest, host, native,
    run::{self, Part},
};
use takt_shell::values;

/// Boot a real kernel in an emulator and run Takt there.
#[derive(Debug, Parser)]
#[command(
    name = "takt-lab",
    bin_name = "takt lab",
    version,
    after_help = "Examples:\n  takt lab run tour\n  takt lab exec -- tc qdisc show"
)]
pub struct Cli {
    #[command(subcommand)]
    pub lab: Lab,
    /// What to print: text for people, or JSON for programs.
    #[arg(long, value_enum, default_value_t, global = true)]
    pub output: Output,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Lab {
    /// List the kernels the lab can boot.
    #[command(after_help = "Examples:\n  takt lab kernels\n  takt lab kernels newest 6.16")]
    Kernels {
        /// Also download these: `default`, `newest`, `wireless`, `realtime`, or a version such as
        /// 6.18.
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
        /// The number of processors.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
        smp: u32,
        /// The number of CPU sockets, with equally many processors each. A socket has one
        /// last-level cache.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
        sockets: u32,
        /// The clock; by default one processor has virtual time, and several
        /// have the host's.
        #[arg(long, value_enum)]
        clock: Option<Clock>,
        /// Copy a file, with the libraries it needs, into /add.
        #[arg(long, value_name = "FILE")]
        add: Vec<PathBuf>,
        /// The network of the machine.
        #[arg(long, value_enum, default_value_t)]
        net: Net,
        /// An additional kernel argument, such as thread_backlog_napi.
        #[arg(long, value_name = "ARGUMENT")]
        kernel_argument: Vec<String>,
        /// The timeout, in minutes of the host's time.
        #[arg(long, value_name = "MINUTES", default_value_t = 30,
              value_parser = clap::value_parser!(u64).range(1..=24 * 60))]
        timeout: u64,
        /// A program in the machine to run as its first process, beside the command.
        #[arg(long, hide = true, value_name = "PROGRAM")]
        init: Option<OsString>,
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },

    /// Run an experiment: Takt and its peers, one after the other.
    #[command(
        after_help = "Examples:\n  takt lab run tour\n  takt lab run pacing --kernel newest \
                      --output json"
    )]
    Run {
        /// `pacing`, `background`, `beats`, `radio`, `crowd`, `cost`, `bystanders`, `kernels`,
        /// `soak`, `sim`, `queues`, `gateway`, or `tour` for a short run of the first five.
        #[arg(add = values::words(|| run::names().map(str::to_owned).collect()))]
        name: String,
        #[command(flatten)]
        machine: Machine,
        /// A short run, of a few minutes at most.
        #[arg(long)]
        short: bool,
        #[command(flatten)]
        part: PartFlags,
        #[command(flatten)]
        gateway: Gateway,
        /// Random seed, of `radio` (fades, and packets' moments) and of `pacing` (how long the
        /// servers of its incast think). 1 by default.
        #[arg(long, value_name = "NUMBER")]
        seed: Option<u64>,
    },

    /// Measure Takt and its peers on this machine, in separate namespaces. No device,
    /// qdisc or policy of the host is changed. Needs root, and takes minutes.
    #[command(
        display_name = "takt-bench",
        override_usage = "takt bench [OPTIONS] [NAME]",
        after_help = "Examples:\n  takt bench\n  takt bench cost --only takt,fq,htb\n  takt bench --output json > report.json"
    )]
    Bench {
        /// `cost`: the cost of a packet that need not wait, or `pacing`: the exactness of
        /// rates and spacing; by default both.
        #[arg(add = values::words(|| native::NAMES.map(str::to_owned).to_vec()))]
        name: Option<String>,
        /// Longer, with more rates.
        #[arg(long)]
        full: bool,
        /// Only these schedulers, plus a baseline without a qdisc.
        #[arg(long, value_name = "NAME", value_delimiter = ',')]
        only: Vec<String>,
    },

    /// The part of `lab run` that runs inside the machine.
    #[command(hide = true)]
    Guest {
        name: String,
        #[arg(long)]
        short: bool,
        #[command(flatten)]
        gateway: Gateway,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only these schedulers, plus a baseline without a qdisc.
        #[arg(long, value_name = "NAME", value_delimiter = ',')]
        only: Vec<String>,
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

    /// The receiver of such an experiment: it receives until nothing comes any more, and prints the
    /// totals.
    #[command(hide = true)]
    Receive {
        #[arg(long)]
        port: u16,
        #[arg(long, allow_hyphen_values = true)]
        nice: i32,
    },

    /// A program of the experiment `beats`: its threads are described on its
    /// standard input.
    #[command(hide = true)]
    Beat,

    /// The radio of an emulated wireless LAN, described on its standard input:
    /// on until that is closed.
    #[command(hide = true)]
    Radio,

    /// A wire with a speed between two devices, described on its standard input: there until that
    /// is closed.
    #[command(hide = true)]
    Wire,

    /// A command beside an emulated wireless LAN, which a file in JSON describes.
    /// Its output is the command's, and then what went over the air, as JSON.
    #[command(hide = true)]
    Wlan {
        script: PathBuf,
        #[arg(last = true)]
        command: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
pub struct Machine {
    /// `default`, `newest`, `wireless`, `realtime`, or a version such as 6.18.
    #[arg(long, add = values::words(kernels))]
    pub kernel: Option<String>,
}

/// What of an experiment is to be run alone.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct PartFlags {
    /// Of `cost`: count the cache misses of a packet in a model of caches, instead of
    /// instructions.
    #[arg(long)]
    caches: bool,
    /// Of `cost`: measure only the cost of a byte with offloads.
    #[arg(long)]
    bytes: bool,
    /// Of `pacing`: measure only what a late timer saves, and costs in spacing.
    #[arg(long)]
    slack: bool,
    /// Of `pacing`: measure only gap frames.
    #[arg(long)]
    gap: bool,
    /// Of `pacing`: measure only a hundred rates, and classes that start one after the other.
    #[arg(long)]
    steps: bool,
    /// Of `background`: measure only uploads whose processor is the bottleneck, and the host's
    /// instructions for a KB.
    #[arg(long)]
    processor: bool,
    /// Of `pacing`: measure only many servers that answer a client at once.
    #[arg(long)]
    incast: bool,
    /// Of `pacing`: measure only thousands of TCP clients, each with its own rate.
    #[arg(long)]
    clients: bool,
}

impl From<PartFlags> for Option<Part> {
    fn from(flags: PartFlags) -> Self {
        [
            (flags.caches, Part::Caches),
            (flags.bytes, Part::Bytes),
            (flags.slack, Part::Slack),
            (flags.gap, Part::Gap),
            (flags.steps, Part::Steps),
            (flags.processor, Part::Processor),
            (flags.incast, Part::Incast),
            (flags.clients, Part::Clients),
        ]
        .into_iter()
        .find_map(|(is_wanted, part)| is_wanted.then_some(part))
    }
}

/// What of the experiment `gateway` is to run.
#[derive(Debug, Args)]
pub struct Gateway {
    /// Of `gateway`: only these lines, by their rates down and up in Mbit/s, such as 20/5.
    #[arg(long, value_name = "DOWN/UP", value_delimiter = ',', add = values::words(|| of_gateway(0)))]
    line: Vec<String>,
    /// Of `gateway`: only these contenders, such as cake.
    #[arg(long, value_name = "NAME", value_delimiter = ',', add = values::words(|| of_gateway(1)))]
    contender: Vec<String>,
    /// Of `gateway`: only this traffic, such as rrul.
    #[arg(long, value_name = "NAME", value_delimiter = ',', add = values::words(|| of_gateway(2)))]
    traffic: Vec<String>,
}

impl From<Gateway> for GatewayChoice {
    fn from(chosen: Gateway) -> Self {
        Self {
            lines: chosen.line,
            contenders: chosen.contender,
            traffic: chosen.traffic,
        }
    }
}

/// The names of its lines, contenders or kinds of traffic.
fn of_gateway(which: usize) -> Vec<String> {
    let [lines, contenders, traffic] = experiment::gateway_names();
    let names = [lines, contenders, traffic].into_iter().nth(which);
    names.into_iter().flatten().map(str::to_owned).collect()
}

fn kernels() -> Vec<String> {
    ["default", "newest", "wireless", "realtime"]
        .map(str::to_owned)
        .to_vec()
}

impl Machine {
    /// The kernel by name; `None` is the default one, spelled out or not.
    pub fn named(self) -> Option<String> {
        self.kernel.filter(|name| name != "default")
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Clock {
    /// An instruction takes a nanosecond and idle time passes at once, whatever the host does;
    /// several processors take turns.
    Virtual,
    /// That of the host; several processors share one of its threads.
    Host,
}

impl Clock {
    /// Several processors have no virtual time unless it is asked for.
    pub fn for_processors(asked_for: Option<Self>, processors: u32) -> host::Clock {
        match (asked_for, processors) {
            (Some(Self::Virtual), _) | (None, 1) => host::Clock::Virtual,
            (Some(Self::Host), _) | (None, _) => host::Clock::Host,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum Net {
    /// Namespaces a (10.0.0.1) and b (10.0.0.2), joined by a veth pair.
    #[default]
    Pair,
    /// In addition ob1 to ob8 in b, whose packets reach oa in a by interrupts, 6 to 9 ms later:
    /// ob1 (10.0.1.2) is for 10.0.1.1, ob2 (10.0.2.2) for 10.0.2.1, and so on.
    Outside,
}

impl From<Net> for guest::Net {
    fn from(net: Net) -> Self {
        match net {
            Net::Pair => Self::Pair,
            Net::Outside => Self::Outside,
        }
    }
}

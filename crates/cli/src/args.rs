//! The command line.

mod flows;
mod top;
mod trace;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use takt_host::{reservations::Terms, stations::Address};
use takt_planner::backend::Kernel;
use takt_policy::{ExactTime, LEAD_AUTO_MAX_NS, parse_decibel, parse_duration, parse_exact};
use takt_shell::{completions::Shell, values};

use crate::reasons;

pub use self::{
    flows::{Flows, FlowsCommand},
    top::{INTERVAL_MAX, INTERVAL_MIN, Top, View},
    trace::Trace,
};

const NOTES: &str = "\
Examples:
  takt doctor
  takt check policy.toml
  takt apply policy.toml --confirm 120s
  takt status
  takt revert

Exit codes:
  0  done
  1  failed
  2  the policy or the arguments are wrong
  3  the kernel or the privileges lack something
  4  the host was changed by someone else
  5  a device of the policy is not there yet";

/// Schedules packets and threads by one policy file, on an unmodified kernel.
#[derive(Debug, Parser)]
#[command(name = "takt", version, after_help = NOTES)]
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
    /// Check a policy and report its errors; change nothing on the host.
    ///
    /// With --kernel, also report whether that kernel can carry the policy out, and exit with code
    /// 3 if not. The kernel is assumed to have every feature of its version. With --explain, as
    /// root, test what the policy needs on the running kernel, and remove the test objects.
    #[command(
        after_help = "Examples:\n  takt check examples/media-server.toml\n  takt check \
                      examples/media-server.toml --kernel 6.1 --explain"
    )]
    Check {
        /// The policy: a file, a directory with policy.toml and policy.d/*.toml, or - for standard
        /// input.
        file: PathBuf,
        /// Check it for this kernel, as `uname -r` prints it, or its beginning (such as 6.1).
        #[arg(long, value_name = "RELEASE", value_parser = kernel)]
        kernel: Option<Kernel>,
        /// Show which backend each link gets, why, and what it does not support; without
        /// --kernel, on the running kernel.
        #[arg(long)]
        explain: bool,
    },

    /// Apply a policy to this host, completely or not at all.
    ///
    /// Devices that only the previous policy names are restored.
    /// Classes that stay keep their queues; no queued packet is lost.
    ///
    /// With --confirm the policy is on trial: only Enter or `yes` at the terminal, or `takt
    /// confirm` from any session, keeps it. Any other input, Ctrl-C, `takt cancel` and the timeout
    /// revert it, even if takt is killed. Standard input is read only if it is a terminal. During
    /// the trial no other policy can be applied on the host.
    #[command(
        after_help = "Examples:\n  takt apply policy.toml --dry-run\n  takt apply policy.toml --confirm 120s"
    )]
    Apply {
        /// The policy: a file, a directory with policy.toml and policy.d/*.toml, or - for standard
        /// input.
        file: PathBuf,
        /// Show what would be done, and the difference to the policy in force; change nothing.
        #[arg(long)]
        dry_run: bool,
        /// Replace a qdisc that another program or an administrator set up; `revert` puts it back.
        #[arg(long)]
        replace: bool,
        /// Restore the previous state unless the policy is confirmed within this time, from 1s to
        /// 1h (such as 120s or 2m).
        #[arg(long, value_name = "TIME", value_parser = patience, conflicts_with = "dry_run")]
        confirm: Option<Duration>,
    },

    /// Keep the policy that `takt apply --confirm` has put on trial.
    ///
    /// From any session of root, before the timeout.
    #[command(after_help = "Example:\n  takt confirm")]
    Confirm,

    /// Revert the policy that `takt apply --confirm` has put on trial.
    ///
    /// From any session of root in the policy's network namespace. The previous policy is in force
    /// again; changes by other programs are reported and left alone.
    #[command(after_help = "Example:\n  takt cancel")]
    Cancel,

    /// Show the managed links and their classes, and the beats, with counters.
    ///
    /// The output is one consistent snapshot, unless another takt has been changing the host for
    /// more than 2 s: then `changing` names that process first, and no problem is reported.
    #[command(
        after_help = "Examples:\n  takt status --flows\n  takt status --tasks\n  takt status --output json | jq \
                      '.tasks[] | [.name, .lateness.p99_ns]'"
    )]
    Status {
        /// Also show every flow that has clocks of its own.
        #[arg(long)]
        flows: bool,
        /// Also show every task on the beat: its lateness, the time it used, and
        /// the time it lost.
        #[arg(long)]
        tasks: bool,
    },

    /// Show links, classes, flows, stations, neighbours and tasks with their rates, queues and
    /// lateness, until `q`.
    ///
    /// `?` shows the keys. It works without colours and in 80 columns; narrower terminals show
    /// fewer columns. Columns and units: docs/top.md.
    #[command(
        after_help = "Examples:\n  takt top\n  takt top tasks --interval 500ms\n  takt top classes \
                      --batch -n 2"
    )]
    Top(Top),

    /// Write a trace of a few seconds for ui.perfetto.dev: queues, rates and packets held, lateness
    /// and slots of tasks, windows of TCP flows.
    ///
    /// It samples the counters of `status` and `flows`, in Chrome's JSON format. Tracks and units:
    /// docs/trace.md.
    #[command(
        after_help = "Examples:\n  takt trace --out link.json\n  takt trace --duration 20s --interval \
                      20ms --out link.json"
    )]
    Trace(Trace),

    /// Print the counters of `status` in the OpenMetrics format, for Prometheus and compatible
    /// readers.
    ///
    /// One series for each device, class, tenant and task of the policy, never for a flow. Use
    /// --file for the textfile collector of node_exporter, from a timer. Names: docs/metrics.md.
    #[command(
        after_help = "Examples:\n  takt metrics\n  takt metrics --file /var/lib/prometheus/node-exporter/takt.prom"
    )]
    Metrics {
        /// Write them to this file, which is replaced atomically.
        #[arg(long)]
        file: Option<PathBuf>,
    },

    /// Show TCP flows: windows and their bounds, round trips, rates, queues
    /// and events.
    ///
    /// All flows of this network namespace, of all users; nothing about them is changed. Without
    /// options it shows the current flows. Columns, units and the format of recordings:
    /// docs/flows.md.
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  takt flows\n  takt flows --watch --port 5201\n  takt flows \
                      --record upload.flows --interval 100ms --duration 60s\n  takt flows plot \
                      upload.flows --out upload.html\n  takt flows --output json | jq \
                      '.flows[] | [.remote, .rtt_us]'"
    )]
    Flows(Flows),

    /// Restore every device of this network namespace, and return every thread
    /// to the kernel's own scheduler.
    #[command(after_help = "Example:\n  takt revert")]
    Revert,

    /// Test each feature on the running kernel and report what is missing.
    #[command(
        after_help = "Examples:\n  takt doctor\n  takt doctor --output json | jq '.features[] | \
                      select(.works | not)'"
    )]
    Doctor,

    /// Explain an error, or why something is refused, throttled, blocked, dropped or late.
    ///
    /// Without a code, list them all.
    #[command(
        after_help = "Examples:\n  takt explain policy::unknown_key\n  takt explain dropped\n  takt \
                      explain"
    )]
    Explain {
        /// A code such as `takt::policy::unknown_key`, with or without the leading `takt::`, or a
        /// word of `takt status` or `takt doctor`.
        #[arg(add = values::words(explained))]
        code: Option<String>,
    },

    /// Print the JSON schema of policies, for editors.
    ///
    /// An editor that knows TOML (Even Better TOML, Taplo, Tombi) shows keys, ranges and mistakes
    /// if the policy begins with the line `#:schema FILE`.
    #[command(after_help = "Example:\n  takt schema > policy.schema.json")]
    Schema,

    /// Register traffic as background while programs run.
    ///
    /// It goes to the class with `match = [{ registered = true }]`. Every user may register
    /// destinations of their own sockets. Needs a running taktd.
    #[command(
        subcommand,
        after_help = "Examples:\n  takt background add 192.0.2.10:873\n  takt background list"
    )]
    Background(Background),

    /// Set and list the weights of stations.
    ///
    /// For links of the policy in force that `[radio]` applies to. A weight set by hand stays until
    /// it is forgotten, whatever reports say.
    #[command(
        subcommand,
        after_help = "Examples:\n  takt station list\n  takt station set 192.0.2.7 --snr 12.5"
    )]
    Station(Station),

    /// Make the key for the reports of clients to access points.
    #[command(
        subcommand,
        after_help = "Example:\n  takt radio key /etc/takt/radio.key"
    )]
    Radio(Radio),

    /// Show the terminals that share the air, and make their key.
    #[command(
        subcommand,
        after_help = "Examples:\n  takt crowd key /etc/takt/crowd.key\n  takt crowd neighbours"
    )]
    Crowd(Crowd),

    /// Run a program in the background, or on the beat.
    ///
    /// In the background the program and its children get a control group of their own, below the
    /// one that takt was started in, and get the processor and the disk when no other program uses
    /// them. On the beat its first thread gets its budget in every period, always at the same
    /// offset. Without privileges both need a running taktd. The exit status is the
    /// program's.
    #[command(
        after_help = "Examples:\n  takt run --background -- rsync -a /home backup:/\n  takt run \
                      --period 40ms --budget 8ms -- mixer\n  takt run --period 40ms --budget 8ms \
                      --group av --member 2/3 -- mixer"
    )]
    Run {
        /// Its traffic belongs to the class with `match = [{ registered = true }]`.
        #[arg(long, required_unless_present = "period", conflicts_with = "period")]
        background: bool,
        #[command(flatten)]
        beat: Option<Beat>,
        /// The program and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },

    /// Run the helper of links: supply gap frames, and wake queues that
    /// the background's gate blocks on other processors.
    ///
    /// `takt apply` starts a helper by itself, which exits when no link needs it. In the
    /// foreground, for init systems, it keeps running. Each network namespace has one helper.
    #[command(after_help = "Example:\n  takt feed")]
    Feed {
        /// End when no link needs it.
        #[arg(long, hide = true)]
        while_needed: bool,
    },

    /// The guard of `apply --confirm`, which restores the state before.
    #[command(hide = true)]
    Guard {
        /// The trial's.
        id: String,
    },

    /// Simulate what a policy does to traffic, with the kernel's own scheduler. Runs the program
    /// takt-sim beside takt.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  takt sim policy.toml --traffic traffic.toml\n  takt sim --help"
    )]
    Sim(Passed),

    /// Run a policy's tasks with SCHED_FIFO, on a kernel without sched_ext. Runs the
    /// program takt-dispatch beside takt.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  takt dispatch run policy.toml\n  takt dispatch --help"
    )]
    Dispatch(Passed),

    /// Roll one policy out to many hosts, in waves that stop on failure. Runs the program
    /// takt-fleet beside takt.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  takt fleet status\n  takt fleet --help"
    )]
    Fleet(Passed),

    /// Measure Takt and its peers on this machine, in separate network namespaces. Runs the
    /// program takt-lab beside takt.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  takt bench\n  takt bench --help"
    )]
    Bench(Passed),

    /// Boot a real kernel in an emulator and run Takt there. Runs the program takt-lab beside
    /// takt.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  takt lab run tour\n  takt lab exec -- tc qdisc show\n  takt lab --help"
    )]
    Lab(Passed),

    /// Print shell completions.
    ///
    /// The shell asks takt at each Tab, so it completes devices, experiments and words for
    /// `takt explain`, also behind `takt sim`, `takt fleet` and the others.
    #[command(after_help = "Examples:\n  takt completions bash > \
                      ~/.local/share/bash-completion/completions/takt\n  source <(takt completions \
                      zsh)\n  takt completions fish > ~/.config/fish/completions/takt.fish")]
    Completions {
        #[arg(value_enum)]
        shell: Shell,
    },

    /// Write the manual pages of takt, its commands, taktd and the programs beside takt into a
    /// directory.
    #[command(after_help = "Example:\n  takt man ~/.local/share/man/man1")]
    Man {
        /// The directory, which must exist.
        directory: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum Background {
    /// Register a destination: its traffic becomes background, including running connections.
    #[command(
        after_help = "Examples:\n  takt background add 192.0.2.10:873\n  takt background add \
                      '[2001:db8::1]:873' --for 2h"
    )]
    Add {
        /// `ADDR:PORT`, an IPv6 address in brackets; names are not resolved.
        #[arg(value_name = "ADDR:PORT")]
        destination: String,
        #[command(flatten)]
        sockets: Sockets,
        /// Remove it after this time, such as 90s, 30m or 2h.
        #[arg(long = "for", value_name = "TIME", value_parser = lifetime)]
        lifetime: Option<Duration>,
    },

    /// Remove a registration.
    #[command(after_help = "Example:\n  takt background remove 192.0.2.10:873")]
    Remove {
        /// The destination, as it was registered.
        #[arg(value_name = "ADDR:PORT")]
        destination: String,
        #[command(flatten)]
        sockets: Sockets,
    },

    /// List the registrations in this network namespace, your own and those
    /// for everyone; as root, all.
    #[command(after_help = "Example:\n  takt background list")]
    List,
}

#[derive(Debug, Subcommand)]
pub enum Station {
    /// Set the weight of a station by its signal strength.
    #[command(
        after_help = "Examples:\n  takt station set 02:00:00:00:01:00 --snr 12.5\n  takt station \
                      set 192.0.2.7 --snr=-3 --device wlan0"
    )]
    Set {
        /// A MAC address where the device has Ethernet headers, else an IP address.
        #[arg(value_name = "ADDR")]
        address: Address,
        /// Its signal-to-noise ratio in dB, from -20 to 60; the policy's law
        /// turns it into a weight.
        #[arg(long, value_name = "DB", value_parser = parse_decibel, allow_hyphen_values = true)]
        snr: i32,
        /// On this link only.
        #[arg(long, value_name = "DEV", add = values::devices())]
        device: Option<String>,
    },

    /// List stations, their weights and the traffic sent to them.
    #[command(
        after_help = "Examples:\n  takt station list\n  takt station list --output json | jq \
                      '.links[].stations[] | [.address, .applied_ppm]'"
    )]
    List {
        /// Of this link only.
        #[arg(long, value_name = "DEV", add = values::devices())]
        device: Option<String>,
    },

    /// Remove a weight that was set by hand.
    #[command(after_help = "Example:\n  takt station forget 02:00:00:00:01:00")]
    Forget {
        #[arg(value_name = "ADDR")]
        address: Address,
        /// On this link only.
        #[arg(long, value_name = "DEV", add = values::devices())]
        device: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum Radio {
    /// Make a key for clients' reports, in a file that does not exist yet.
    ///
    /// The access point and all its clients need the same: copy it to each, and let no other user
    /// read it.
    #[command(after_help = "Examples:\n  takt radio key\n  takt radio key /etc/takt/radio.key")]
    Key {
        #[arg(default_value = "radio.key")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum Crowd {
    /// List the terminals of the group, their throughput, and counters of datagrams.
    ///
    /// From taktd's reports; taktd must run in this network namespace.
    #[command(
        after_help = "Examples:\n  takt crowd neighbours\n  takt crowd neighbours --output json | \
                      jq '.neighbourhoods[].neighbours[] | [.name, .rate_bytes_ps]'"
    )]
    Neighbours,

    /// Make a key for the group's reports, in a file that does not exist yet.
    ///
    /// All terminals of the group, and its aggregator if it has one, need the same: copy it to
    /// each, and let no other user read it.
    #[command(after_help = "Examples:\n  takt crowd key\n  takt crowd key /etc/takt/crowd.key")]
    Key {
        #[arg(default_value = "crowd.key")]
        file: PathBuf,
    },
}

/// The arguments of a program beside takt.
#[derive(Debug, Args)]
pub struct Passed {
    /// The program's own arguments.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    pub arguments: Vec<OsString>,
}

/// The owner of the sockets; by default the caller.
#[derive(Debug, Args)]
pub struct Sockets {
    /// Of another user's sockets, by name or number; root only.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Of all packets, including forwarded ones; root only.
    #[arg(long, conflicts_with = "user")]
    pub everyone: bool,
}

/// A reservation on the beat.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Beat {
    /// How often it runs, such as 40ms, or 64/48000s for 64 frames at 48 kHz.
    #[arg(long, value_name = "TIME", value_parser = parse_exact, required = false, requires = "budget")]
    pub period: ExactTime,
    /// How long it runs in each period, such as 8ms.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, required = false, requires = "period")]
    pub budget: u64,
    /// The offset within its period; by default wherever there is room.
    #[arg(long, value_name = "TIME", value_parser = parse_exact, requires = "period")]
    pub offset: Option<ExactTime>,
    /// Release it this long before its beat, or by a learned time with `auto`; the
    /// library spins until the beat.
    #[arg(long, value_name = "TIME", value_parser = lead, requires = "period")]
    pub lead: Option<Lead>,
    /// What happens when it exceeds its budget; by default `demote`.
    #[arg(long, value_enum, requires = "period")]
    pub overrun: Option<Overrun>,
    /// Share the budget with the other members of this group: each hands over to the
    /// next.
    #[arg(long, value_name = "NAME", requires_all = ["period", "member"])]
    pub group: Option<String>,
    /// Which member this is, and of how many, such as 2/3.
    #[arg(long, value_name = "K/N", value_parser = member, requires = "group")]
    pub member: Option<(u32, u32)>,
    /// Which member runs next; by default the next in order.
    #[arg(long, value_enum, requires = "group")]
    pub handoff: Option<Handoff>,
}

/// How long before its beat a thread is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    Ns(u64),
    /// As its starts turn out to need.
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Handoff {
    /// The next in order, each once in a period.
    Order,
    /// The one that a member passes its turn to, with the library.
    Free,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Overrun {
    /// An ordinary thread until its next period.
    Demote,
    /// The same, and SIGXCPU.
    Signal,
    /// All threads of its group are ordinary ones from then on.
    StopGroup,
    /// It waits for its next slot, and runs in no other time.
    Wait,
}

impl From<Beat> for Terms {
    fn from(beat: Beat) -> Self {
        let (member, member_count) = beat.member.unwrap_or((1, 1));
        Self {
            group: beat.group,
            member: member - 1,
            member_count,
            period_ns: beat.period,
            budget_ns: beat.budget,
            offset_ns: beat.offset,
            lead_ns: match beat.lead {
                None => 0,
                Some(Lead::Ns(lead_ns)) => lead_ns,
                Some(Lead::Auto) => LEAD_AUTO_MAX_NS,
            },
            lead_auto: beat.lead == Some(Lead::Auto),
            overrun: match beat.overrun {
                None | Some(Overrun::Demote) => takt_policy::Overrun::Demote,
                Some(Overrun::Signal) => takt_policy::Overrun::Signal,
                Some(Overrun::StopGroup) => takt_policy::Overrun::StopGroup,
                Some(Overrun::Wait) => takt_policy::Overrun::Wait,
            },
            handoff: match beat.handoff {
                None | Some(Handoff::Order) => takt_policy::Handoff::Order,
                Some(Handoff::Free) => takt_policy::Handoff::Free,
            },
        }
    }
}

/// What `takt explain` finds without its area, since bash takes a colon for the end of a word.
fn explained() -> Vec<String> {
    let names = reasons::all().flat_map(|entry| {
        let last = entry.code.rsplit("::").next().map(str::to_owned);
        let shown = entry.shown_as.iter().map(|word| (*word).to_owned());
        last.into_iter().chain(shown)
    });
    let mut names: Vec<String> = names
        .filter(|name| !name.contains([' ', ':']) && reasons::find(name).is_some())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// A whole number of seconds, minutes, hours or days.
fn seconds(text: &str) -> Option<u64> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)];
    let split = |(unit, factor)| Some((text.strip_suffix(unit)?, factor));
    let (number, factor) = units.into_iter().find_map(split)?;
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// A lifetime: up to a year.
fn lifetime(text: &str) -> Result<Duration, String> {
    match seconds(text) {
        Some(seconds @ 1..=31_536_000) => Ok(Duration::from_secs(seconds)),
        _ => Err("write a time from 1s to 365d, such as 90s, 30m or 2h".to_owned()),
    }
}

/// Durations in the policy's spelling.
fn span(text: &str) -> Result<Duration, String> {
    parse_duration(text).map(Duration::from_nanos)
}

fn lead(text: &str) -> Result<Lead, String> {
    match text {
        "auto" => Ok(Lead::Auto),
        text => parse_duration(text).map(Lead::Ns),
    }
}

/// `2/3`: the second of three.
fn member(text: &str) -> Result<(u32, u32), String> {
    let numbers = text
        .split_once('/')
        .and_then(|(member, of)| Some((member.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((member, of)) if (1..=of).contains(&member) => Ok((member, of)),
        _ => Err("write the member's number and the number of members, such as 2/3".to_owned()),
    }
}

fn kernel(release: &str) -> Result<Kernel, &'static str> {
    Kernel::of_release(release).ok_or("a release begins with two numbers, such as 6.1")
}

/// The time of a trial: up to an hour, for other administrators wait as long.
fn patience(text: &str) -> Result<Duration, String> {
    match seconds(text) {
        Some(seconds @ 1..=3600) => Ok(Duration::from_secs(seconds)),
        _ => Err("write a time from 1s to 1h, such as 120s or 2m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    fn run(options: &str) -> Result<(bool, Option<Terms>), ErrorKind> {
        let line = format!("takt run {options} -- true");
        let cli = Cli::try_parse_from(line.split_whitespace()).map_err(|error| error.kind())?;
        match cli.command {
            Command::Run {
                background, beat, ..
            } => Ok((background, beat.map(Terms::from))),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_program_runs_in_the_background_or_on_the_beat() {
        assert_eq!(run("--background"), Ok((true, None)));
        let (background, terms) = run("--period 40ms --budget 8ms").unwrap();
        let plain = Terms {
            group: None,
            member: 0,
            member_count: 1,
            period_ns: 40_000_000.into(),
            budget_ns: 8_000_000,
            offset_ns: None,
            lead_ns: 0,
            lead_auto: false,
            overrun: takt_policy::Overrun::Demote,
            handoff: takt_policy::Handoff::Order,
        };
        assert!(!background);
        assert_eq!(terms, Some(plain.clone()));
        let (_, terms) = run(
            "--period 40ms --budget 8ms --offset 5ms --lead 20us --overrun stop-group --group av \
             --member 2/3 --handoff free",
        )
        .unwrap();
        let full = Terms {
            group: Some("av".to_owned()),
            member: 1,
            member_count: 3,
            offset_ns: Some(5_000_000.into()),
            lead_ns: 20_000,
            overrun: takt_policy::Overrun::StopGroup,
            handoff: takt_policy::Handoff::Free,
            ..plain
        };
        assert_eq!(terms, Some(full));
        let (_, terms) = run("--period 40ms --budget 8ms --lead auto").unwrap();
        let terms = terms.unwrap();
        assert_eq!(
            (terms.lead_auto, terms.lead_ns),
            (true, takt_policy::LEAD_AUTO_MAX_NS)
        );
    }

    #[test]
    fn a_trial_lasts_an_hour_at_most() {
        let patience_s = |time: &str| {
            let line = ["takt", "apply", "a.toml", "--confirm", time];
            match Cli::try_parse_from(line)
                .map_err(|error| error.kind())?
                .command
            {
                Command::Apply { confirm, .. } => Ok(confirm.map(|time| time.as_secs())),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(patience_s("1s"), Ok(Some(1)));
        assert_eq!(patience_s("1h"), Ok(Some(3600)));
        for time in ["0s", "3601s", "2h", "1d", "120", "99999999999999999999s"] {
            assert_eq!(patience_s(time), Err(ErrorKind::ValueValidation), "{time}");
        }
        assert_eq!(patience_s("-1s"), Err(ErrorKind::UnknownArgument));
    }

    #[test]
    fn one_of_them_and_all_of_it() {
        for (options, kind) in [
            ("", ErrorKind::MissingRequiredArgument),
            ("--period 40ms", ErrorKind::MissingRequiredArgument),
            ("--budget 8ms", ErrorKind::MissingRequiredArgument),
            (
                "--background --lead 20us",
                ErrorKind::MissingRequiredArgument,
            ),
            (
                "--background --period 40ms --budget 8ms",
                ErrorKind::ArgumentConflict,
            ),
            (
                "--period 40ms --budget 8ms --group av",
                ErrorKind::MissingRequiredArgument,
            ),
            (
                "--period 40ms --budget 8ms --member 1/2",
                ErrorKind::MissingRequiredArgument,
            ),
            ("--period 40 --budget 8ms", ErrorKind::ValueValidation),
            (
                "--period 40ms --budget 8ms --overrun never",
                ErrorKind::InvalidValue,
            ),
        ] {
            assert_eq!(run(options), Err(kind), "{options}");
        }
        for of in ["0/2", "3/2", "1/0", "2", "/", "-1/2", "1/99999999999"] {
            let options = format!("--period 40ms --budget 8ms --group av --member={of}");
            assert_eq!(run(&options), Err(ErrorKind::ValueValidation), "{of}");
        }
    }
}

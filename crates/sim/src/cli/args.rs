//! What can be typed behind `takt sim`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use takt_shell::values;

use super::{schedulers::Name, seeds::Seeds};

/// Simulate what a policy does to traffic: who gets what rate, spacing and delay, what is lost and
/// what is held. The scheduler is the kernel's own code; the host is not looked at.
#[derive(Debug, Parser)]
#[command(
    name = "takt-sim",
    bin_name = "takt sim",
    version,
    after_help = "Examples:\n  takt sim policy.toml --traffic traffic.toml\n  \
                  takt sim policy.toml --traffic traffic.toml --beside tree,fifo\n  \
                  takt sim policy.toml --traffic traffic.toml --compare other.toml --duration 60s\n  \
                  takt sim policy.toml --traffic traffic.toml --beside cake --seeds 1..20\n  \
                  takt sim --record eth0 10s --hash-addresses"
)]
pub struct Cli {
    /// The policy: a file, a directory of files, or - for standard input.
    #[arg(required_unless_present = "record")]
    pub policy: Option<PathBuf>,
    /// What is sent; its keys are in docs/sim.md.
    #[arg(long, value_name = "FILE", required_unless_present = "record")]
    pub traffic: Option<PathBuf>,
    /// The link, by its device; needed if the policy has several.
    #[arg(long, value_name = "DEV", add = values::devices())]
    pub link: Option<String>,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Run with each of these seeds, at most a thousand, on all processors; figures are means with
    /// their 95 % intervals.
    #[arg(long, value_name = "FIRST..LAST", conflicts_with = "seed")]
    pub seeds: Option<Seeds>,
    /// How long it takes, in simulated time.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub duration: u64,
    /// Peers beside Takt, with the same traffic.
    #[arg(long, value_name = "SCHEDULER", value_enum, value_delimiter = ',')]
    pub beside: Vec<Name>,
    /// Another policy for the same traffic, shown side by side.
    #[arg(long, value_name = "POLICY")]
    pub compare: Option<PathBuf>,
    /// Record what leaves this host's device for so long, up to 3600s and two million packets, as a
    /// traffic file. Of packets only times, lengths and what rules match are kept. Needs root.
    #[arg(long, num_args = 2, value_names = ["DEV", "TIME"], add = values::devices(),
          conflicts_with_all = ["policy", "traffic", "link", "beside", "compare", "seeds"])]
    pub record: Vec<String>,
    /// Where the recording goes; the capture is beside it, and ends in .pcap. Neither may exist.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "recorded.toml",
        requires = "record"
    )]
    pub to: PathBuf,
    /// Record what comes in on the device: what a gateway will send on.
    #[arg(long, requires = "record")]
    pub incoming: bool,
    /// Put other addresses in the place of those that were seen, by a random key that is not kept.
    #[arg(long, requires = "record")]
    pub hash_addresses: bool,
    /// Print the JSON schema of traffic files, for editors.
    #[arg(long, exclusive = true)]
    pub schema: bool,
    /// What to print: text for people, JSON for programs, or a page with plots.
    #[arg(long, value_enum, default_value_t)]
    pub output: Output,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Text,
    Json,
    Html,
}

/// From 1 us to a day, in nanoseconds.
fn duration(text: &str) -> Result<u64, String> {
    const RANGE_NS: std::ops::RangeInclusive<u64> = 1_000..=86_400_000_000_000;
    let duration_ns = takt_policy::parse_duration(text)?;
    if RANGE_NS.contains(&duration_ns) {
        Ok(duration_ns)
    } else {
        Err("a duration goes from 1us to 86400s".to_owned())
    }
}

//! The experiments that run inside the lab.
//!
//! From the bottom: `pair` is the cable, `shape` what a case asks of a scheduler, `setup` the
//! settings of each `scheduler`, `root` attaches it; `source` and `sink` are the traffic's two
//! ends and `traffic` its loop; `load` turns idle time into figures; `card` is a device whose hardware is a
//! process, `wired` two of them on a wire with a speed, `wlan` the air. `pacing`,
//! `background`, `beats`, `radio`, `crowd`, `cost`, `bystanders`, `kernels`, `soak`, `sim`, `queues` and
//! `gateway` are the experiments themselves.

mod background;
mod beats;
mod bench;
mod bulk;
mod bystanders;
mod card;
mod command;
mod cost;
mod crowd;
mod daemon;
mod error;
mod gateway;
mod iperf;
mod kernels;
mod listening;
mod load;
mod metrics;
mod metronome;
mod namespace;
mod napi;
mod pacing;
mod pair;
mod queues;
mod radio;
mod record;
mod recorder;
mod root;
mod round_trip;
mod scheduler;
mod setup;
mod shape;
mod sim;
mod sink;
mod soak;
mod source;
mod tcp_counters;
mod traffic;
mod wired;
mod wlan;

use std::time::Duration;

pub use background::{receive_numbered, send_from_stdin};
pub use beats::play_from_stdin;
pub use bench::Options;
pub use error::ExperimentError;
use error::{Result, WhileDoing};
pub use gateway::{Choice as GatewayChoice, names as gateway_names};
use takt_report::{Report, Row};
pub use wired::play_from_stdin as play_wire_from_stdin;
pub use wlan::{Wlan, play_from_stdin as play_radio_from_stdin};

/// Every experiment by name.
pub(crate) const NAMES: [&str; 12] = [
    "pacing",
    "background",
    "beats",
    "radio",
    "crowd",
    "cost",
    "bystanders",
    "kernels",
    "soak",
    "sim",
    QUEUES,
    GATEWAY,
];

/// The one experiment that is measured in the host's time.
pub(crate) const QUEUES: &str = "queues";

/// The one experiment with lines to choose from.
pub(crate) const GATEWAY: &str = "gateway";

pub(crate) use cost::caches::fill as fill_caches;

/// What `cost` runs in the machine with `--caches`.
pub const CACHES: &str = "caches";
/// What of `background` runs on a wire that pushes back, alone.
pub const LINE: &str = "line";
/// What `background` runs in the machine with `--processor`.
pub const PROCESSOR: &str = "processor";
/// Likewise with `--bytes`.
pub const BYTES: &str = "bytes";
/// What `pacing` runs in the machine with `--slack`.
pub const SLACK: &str = "slack";
/// Likewise with `--steps`.
pub const STEPS: &str = "steps";
/// Likewise with `--gap`.
pub const GAP: &str = "gap";
/// Likewise with `--incast`.
pub const INCAST: &str = "incast";
/// Likewise with `--clients`.
pub const CLIENTS: &str = "clients";

/// IPv6 reports its multicast groups in the first second of a device's life; no scheduler shall
/// count those frames. Idle time is free in the lab.
const MULTICAST_REPORTS: Duration = Duration::from_secs(2);

/// Runs one experiment on this machine: as root, in the lab's `pair` network. Progress goes to
/// standard error. The caller fills in `command` and `commit` of the report.
pub fn run_here(name: &str, options: Options) -> Result<Report> {
    let clock = if options.native || name == QUEUES {
        "real"
    } else {
        "virtual"
    };
    let bench = bench::Bench::new(options)?;
    let experiment: fn(&bench::Bench) -> Result<Vec<Row>> = match name {
        "pacing" => pacing::run,
        "background" => background::run,
        "beats" => beats::run,
        "radio" => radio::run,
        "crowd" => crowd::run,
        "cost" => cost::run,
        CACHES => cost::caches::run,
        BYTES => cost::bytes::run,
        SLACK => pacing::run_slack,
        GAP => pacing::run_gap,
        STEPS => pacing::run_steps,
        INCAST => pacing::run_incast,
        CLIENTS => pacing::run_clients,
        LINE => background::run_on_a_line,
        PROCESSOR => background::run_on_a_busy_processor,
        "bystanders" => bystanders::run,
        "kernels" => kernels::run,
        "soak" => soak::run,
        "sim" => sim::run,
        QUEUES => queues::run,
        GATEWAY => gateway::run,
        _ => {
            return Err(ExperimentError::UnknownExperiment {
                name: name.to_owned(),
                known: NAMES.join(", "),
            });
        }
    };
    std::thread::sleep(MULTICAST_REPORTS);
    let system = nix::sys::utsname::uname().doing("ask for the kernel's release")?;
    Ok(Report {
        experiment: name.to_owned(),
        kernel: system.release().to_string_lossy().into_owned(),
        clock: clock.to_owned(),
        command: String::new(),
        commit: String::new(),
        rows: experiment(&bench)?,
    })
}

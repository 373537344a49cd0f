//! Fuzzers of what takt reads and others write: each takes any bytes, and panics if takt does
//! something wrong.
//!
//! `tests/corpora.rs` replays the corpora and changes their inputs for seconds; `scripts/fuzz`
//! (`make fuzz`) lets libFuzzer search for hours. `corpus/NAME` holds the inputs that are kept:
//! real ones, and those that once failed.

mod targets {
    pub mod capacities;
    pub mod capture;
    pub mod control;
    pub mod fleet;
    pub mod netlink;
    pub mod packet;
    pub mod policy;
    pub mod recording;
    pub mod reports;
    pub mod state;
    pub mod traffic;
}

use std::path::{Path, PathBuf};

use targets::{
    capacities, capture, control, fleet, netlink, packet, policy, recording, reports, state,
    traffic,
};

/// Folders with inputs for each target, its own first; scripts/fuzz reads the same.
const CORPORA: &str = include_str!("../corpora.txt");

/// A parser.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its corpus.
    pub name: &'static str,
    /// Reads any bytes.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 11] = [
    Target::new("capacities", capacities::run),
    Target::new("capture", capture::run),
    Target::new("control", control::run),
    Target::new("fleet", fleet::run),
    Target::new("netlink", netlink::run),
    Target::new("packet", packet::run),
    Target::new("policy", policy::run),
    Target::new("recording", recording::run),
    Target::new("reports", reports::run),
    Target::new("state", state::run),
    Target::new("traffic", traffic::run),
];

impl Target {
    const fn new(name: &'static str, run: fn(&[u8])) -> Self {
        Self { name, run }
    }

    /// The folders with its inputs.
    pub fn folders(&self) -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let own = CORPORA
            .lines()
            .filter_map(|line| line.strip_prefix(self.name));
        let folders = own.flat_map(str::split_whitespace);
        folders.map(|folder| root.join(folder)).collect()
    }
}

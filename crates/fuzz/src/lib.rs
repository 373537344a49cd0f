//! Fuzzers of what takt reads and others write: each takes any bytes, and panics if takt does
//! something wrong.
//!
//! `tests/corpora.rs` replays the corpora and changes their inputs for seconds; `scripts/fuzz`
//! (`make fuzz`) lets libFuzzer search for hours. `corpus/NAME` holds the inputs that are kept:
//! real ones, and those that once failed.

mod targets {
    pub mod control;
    pub mod netlink;
    pub mod policy;
    pub mod recording;
    pub mod reports;
    pub mod state;
}

use std::path::{Path, PathBuf};

use targets::{control, netlink, policy, recording, reports, state};

/// A parser, and where inputs for it are kept.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its corpus.
    pub name: &'static str,
    /// Reads any bytes.
    pub run: fn(&[u8]),
    /// Further folders with inputs, from the root of the repository on.
    also: &'static [&'static str],
}

/// All of them.
pub const TARGETS: [Target; 6] = [
    Target::new("control", control::run, &[]),
    Target::new("netlink", netlink::run, &[]),
    Target::new(
        "policy",
        policy::run,
        &[
            "examples",
            "crates/policy/tests/bad",
            "crates/policy/tests/warned",
        ],
    ),
    Target::new("recording", recording::run, &[]),
    Target::new("reports", reports::run, &[]),
    Target::new("state", state::run, &[]),
];

impl Target {
    const fn new(name: &'static str, run: fn(&[u8]), also: &'static [&'static str]) -> Self {
        Self { name, run, also }
    }

    /// The folders with its inputs; its own comes first.
    pub fn folders(&self) -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let own = root.join("crates/fuzz/corpus").join(self.name);
        let also = self.also.iter().map(|folder| root.join(folder));
        [own].into_iter().chain(also).collect()
    }
}

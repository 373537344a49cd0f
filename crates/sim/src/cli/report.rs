//! All runs of a command, as `--output json` prints them.

use serde::Serialize;
use takt_sim::Outcome;

/// What was asked for, and what came of it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The traffic file's name.
    pub traffic: String,
    /// Of all random numbers.
    pub seed: u64,
    /// Simulated.
    pub duration_ns: u64,
    /// One for each policy.
    pub variants: Vec<Variant>,
}

/// The runs of one policy.
#[derive(Debug, Serialize)]
pub struct Variant {
    /// The file's name.
    pub policy: String,
    /// The link's device.
    pub link: String,
    /// The link's rate.
    pub rate_bps: u64,
    /// One for each scheduler.
    pub runs: Vec<Outcome>,
}

impl Report {
    /// Which run it is: the policy's name only if there are several.
    pub fn label(&self, variant: &Variant, run: &Outcome) -> String {
        match (self.variants.len(), variant.runs.len()) {
            (1, _) => run.scheduler.clone(),
            (_, 1) => variant.stem().to_owned(),
            _ => format!("{} {}", variant.stem(), run.scheduler),
        }
    }

    /// With a line's end.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

impl Variant {
    /// The policy's file without folders and ending.
    pub fn stem(&self) -> &str {
        let file = self.policy.rsplit('/').next().unwrap_or_default();
        file.strip_suffix(".toml").unwrap_or(file)
    }
}

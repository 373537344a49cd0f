//! The kernel's own class, and Takt's scheduler with a task that no thread joins.

use std::path::Path;

use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Kernel,
    Takt,
}

/// Slots of a thread that does not exist.
const POLICY: &str = "[[task]]\nname = \"never\"\nperiod = \"40ms\"\nbudget = \"1ms\"\n";
const POLICY_FILE: &str = "/lab/idle.toml";

impl Contender {
    pub const ALL: [Self; 2] = [Self::Kernel, Self::Takt];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Takt => "takt",
        }
    }

    pub fn load(self, takt: &Path) -> Result<Option<Loaded<'_>>> {
        if self == Self::Kernel {
            return Ok(None);
        }
        std::fs::write(POLICY_FILE, POLICY).doing("write the policy file")?;
        command::run(takt, &["apply", POLICY_FILE])?;
        Ok(Some(Loaded(takt)))
    }
}

/// Unloaded when this is dropped.
pub struct Loaded<'lab>(&'lab Path);

impl Drop for Loaded<'_> {
    fn drop(&mut self) {
        if let Err(error) = command::run(self.0, &["revert"]) {
            eprintln!("while cleaning up: {error}");
        }
    }
}

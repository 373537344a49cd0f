//! A scheduler attached to the sending device, and taken off again.

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use super::command;
use super::error::{ExperimentError, Result, WhileDoing};
use super::pair::{A, DEVICE};
use super::scheduler::Scheduler;
use super::setup::Qdisc;

/// What `tc` says of a qdisc, filter or action the kernel was built without.
const UNKNOWN_TO_KERNEL: [&str; 3] = [
    "qdisc kind is unknown",
    "TC classifier not found",
    "Unknown qdisc",
];

#[must_use = "the scheduler is removed when this is dropped"]
pub struct Installed<'lab> {
    removal: Removal<'lab>,
}

enum Removal<'lab> {
    Nothing,
    RootQdisc,
    Revert { takt: &'lab Path },
}

impl<'lab> Installed<'lab> {
    pub fn install(takt: &'lab Path, scheduler: Scheduler, qdisc: &Qdisc) -> Result<Self> {
        match qdisc {
            Qdisc::None => Ok(Self {
                removal: Removal::Nothing,
            }),
            Qdisc::Tc(lines) => {
                let this = Self {
                    removal: Removal::RootQdisc,
                };
                match A.run(|| command::tc_batch(lines)) {
                    Ok(()) => Ok(this),
                    Err(error) => Err(this.give_up(scheduler, error)),
                }
            }
            Qdisc::Takt(policy) => {
                let file = policy_file(policy)?;
                let path = file.path().to_string_lossy();
                // It applies all or nothing: what fails needs no removal.
                A.run(|| command::run(takt, &["apply", &path]))?;
                Ok(Self {
                    removal: Removal::Revert { takt },
                })
            }
        }
    }

    /// Takes the scheduler off, and says so if that fails.
    pub fn remove(mut self) -> Result<()> {
        self.undo()
    }

    /// `tc` stopped half way: what it did is undone as far as there is any.
    fn give_up(mut self, scheduler: Scheduler, error: ExperimentError) -> ExperimentError {
        let _ = self.undo();
        match error {
            ExperimentError::Command { stderr, .. }
                if UNKNOWN_TO_KERNEL.iter().any(|text| stderr.contains(text)) =>
            {
                ExperimentError::Unsupported {
                    scheduler: scheduler.name(),
                    reason: stderr.lines().next().unwrap_or_default().to_owned(),
                }
            }
            error => error,
        }
    }

    fn undo(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.removal, Removal::Nothing) {
            Removal::Nothing => Ok(()),
            Removal::RootQdisc => {
                A.run(|| command::run("tc", &["qdisc", "del", "dev", DEVICE, "root"]).map(drop))
            }
            Removal::Revert { takt } => A.run(|| command::run(takt, &["revert"]).map(drop)),
        }
    }
}

impl Drop for Installed<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.undo() {
            eprintln!("while cleaning up: {error}");
        }
    }
}

fn policy_file(policy: &str) -> Result<NamedTempFile> {
    let write = || {
        let mut file = tempfile::Builder::new().suffix(".toml").tempfile()?;
        file.write_all(policy.as_bytes())?;
        Ok::<_, std::io::Error>(file)
    };
    write().doing("write the policy file")
}

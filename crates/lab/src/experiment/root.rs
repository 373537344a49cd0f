//! The root qdisc of a sending device.

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use super::command;
use super::error::{ExperimentError, Result, WhileDoing};
use super::namespace::Namespace;
use super::pair::{A, DEVICE};
use super::setup::Qdisc;

/// Messages about what the kernel was built without: `tc`'s on a qdisc or filter, takt's on a
/// backend.
const UNKNOWN_TO_KERNEL: [&str; 3] = [
    "qdisc kind is unknown",
    "TC classifier not found",
    "takt::kernel::no_backend",
];

/// Detaches the scheduler when this is dropped.
pub struct Root<'lab> {
    takt: &'lab Path,
    namespace: Namespace,
    device: &'static str,
    attached: Attached,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attached {
    Nothing,
    Tc,
    Takt,
}

impl<'lab> Root<'lab> {
    /// Of the lab's pair.
    pub fn new(takt: &'lab Path) -> Self {
        Self::on(takt, A, DEVICE)
    }

    pub fn on(takt: &'lab Path, namespace: Namespace, device: &'static str) -> Self {
        Self {
            takt,
            namespace,
            device,
            attached: Attached::Nothing,
        }
    }

    /// Attaches `scheduler`, as rows name it. Detaches the previous one, except that a policy
    /// of Takt replaces another: its program is verified once, which takes seconds in the lab.
    pub fn attach(&mut self, scheduler: &'static str, qdisc: &Qdisc) -> Result<()> {
        if !(self.attached == Attached::Takt && matches!(qdisc, Qdisc::Takt(_))) {
            self.detach()?;
        }
        match qdisc {
            Qdisc::None => Ok(()),
            Qdisc::Tc(lines) => self
                .namespace
                .run(|| command::tc_batch(lines))
                .map_err(|error| {
                    // It stopped half way: undo what it did.
                    let _ = self.detach_tc();
                    unsupported(scheduler, error)
                }),
            Qdisc::Takt(policy) => {
                let file = policy_file(policy)?;
                let path = file.path().to_string_lossy();
                let takt = self.takt;
                self.namespace
                    .run(|| command::run(takt, &["apply", &path]).map(drop))
                    .map_err(|error| unsupported(scheduler, error))
            }
        }?;
        self.attached = match qdisc {
            Qdisc::None => Attached::Nothing,
            Qdisc::Tc(_) => Attached::Tc,
            Qdisc::Takt(_) => Attached::Takt,
        };
        Ok(())
    }

    pub fn detach(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.attached, Attached::Nothing) {
            Attached::Nothing => Ok(()),
            Attached::Tc => self.detach_tc(),
            Attached::Takt => {
                let takt = self.takt;
                self.namespace
                    .run(|| command::run(takt, &["revert"]).map(drop))
            }
        }
    }

    fn detach_tc(&self) -> Result<()> {
        let device = self.device;
        self.namespace
            .run(|| command::run("tc", &["qdisc", "del", "dev", device, "root"]).map(drop))
    }
}

impl Drop for Root<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.detach() {
            eprintln!("while cleaning up: {error}");
        }
    }
}

fn unsupported(scheduler: &'static str, error: ExperimentError) -> ExperimentError {
    match error {
        ExperimentError::Command { stderr, .. }
            if UNKNOWN_TO_KERNEL.iter().any(|text| stderr.contains(text)) =>
        {
            ExperimentError::Unsupported {
                scheduler,
                reason: reason(&stderr),
            }
        }
        error => error,
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

/// The help, where there is one, else the first line.
fn reason(message: &str) -> String {
    match message.split_once("help: ") {
        Some((_, help)) => help.split_whitespace().collect::<Vec<_>>().join(" "),
        None => message.lines().next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_lacks_is_said_in_a_line() {
        let takts = "takt::kernel::no_backend\n\n  x this kernel cannot\n\n  help: no backend keeps\n        \
                     what the policy asks for\n";
        assert_eq!(reason(takts), "no backend keeps what the policy asks for");
        let tcs = "Error: Specified qdisc kind is unknown.\nCommand failed -:1\n";
        assert_eq!(reason(tcs), "Error: Specified qdisc kind is unknown.");
    }
}

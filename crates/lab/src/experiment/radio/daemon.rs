//! A taktd at the access point.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::wlan::ACCESS_POINT;

/// Ended when it is dropped.
pub struct Daemon(Child);

impl Daemon {
    /// Returns when it listens.
    pub fn start(takt: &Path) -> Result<Self> {
        ACCESS_POINT.run(|| {
            let mut command = Command::new(takt);
            command.arg0("taktd").stdout(Stdio::piped());
            let child = command.spawn().map_err(|source| ExperimentError::Start {
                program: "taktd".to_owned(),
                source,
            })?;
            let mut daemon = Self(child);
            let mut line = String::new();
            if let Some(said) = daemon.0.stdout.take() {
                BufReader::new(said)
                    .read_line(&mut line)
                    .doing("wait for taktd")?;
            }
            if line.is_empty() {
                return Err(ExperimentError::Command {
                    command: "taktd".to_owned(),
                    stderr: "it does not listen".to_owned(),
                });
            }
            Ok(daemon)
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

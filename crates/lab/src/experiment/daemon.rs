//! A taktd, at the access point or at a station.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::namespace::Namespace;

/// Ended when it is dropped.
pub struct Daemon(Child);

impl Daemon {
    /// Returns when it listens.
    pub fn start(takt: &Path, namespace: Namespace) -> Result<Self> {
        let mut command = Command::new(takt);
        command.arg0("taktd");
        Self::started(command, namespace)
    }

    /// A taktd in a namespace of its own, as if alone on its host.
    pub fn start_alone(namespace: Namespace) -> Result<Self> {
        let alone = "mkdir -p /run/taktd && mount -t tmpfs none /run/taktd && exec taktd";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", alone]);
        Self::started(command, namespace)
    }

    fn started(mut command: Command, namespace: Namespace) -> Result<Self> {
        namespace.run(|| {
            let child = command.stdout(Stdio::piped()).spawn();
            let child = child.map_err(|source| ExperimentError::Start {
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

//! The recording of a terminal's flow by `takt flows`, for the page.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use takt_flows::{Line, Recording};
use tempfile::TempDir;

use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::namespace::Namespace;

const INTERVAL: &str = "50ms";
/// As much as a page can show.
const SAMPLES_MAX: usize = 150;
const PATIENCE: Duration = Duration::from_secs(30);

/// `takt flows --record` in a terminal's namespace, ended when it is dropped.
pub struct Recorder {
    takt: Child,
    folder: TempDir,
}

impl Recorder {
    /// Returns when it records.
    pub fn start(takt: &Path, namespace: Namespace) -> Result<Self> {
        let folder = tempfile::tempdir().doing("find a place for a recording")?;
        let mut command = Command::new(takt);
        command.args(["flows", "--interval", INTERVAL, "--record"]);
        command.arg(file(&folder)).stdout(Stdio::null());
        let takt = namespace.run(|| command.spawn().doing("start takt flows"))?;
        let recorder = Self { takt, folder };
        let mut waited = Duration::ZERO;
        while recorder.text().is_empty() {
            if waited >= PATIENCE {
                return Err(recorder.failed("it records nothing"));
            }
            let pause = Duration::from_millis(20);
            thread::sleep(pause);
            waited += pause;
        }
        Ok(recorder)
    }

    /// The flow with the most bytes.
    pub fn finish(mut self) -> Result<Vec<Line>> {
        self.end();
        let recording = Recording::parse(&self.text());
        let recording = recording.map_err(|reason| self.failed(&reason.to_string()))?;
        Ok(recording.heaviest(1).thinned(SAMPLES_MAX).lines())
    }

    fn text(&self) -> String {
        std::fs::read_to_string(file(&self.folder)).unwrap_or_default()
    }

    fn failed(&self, reason: &str) -> ExperimentError {
        ExperimentError::Command {
            command: "takt flows".to_owned(),
            stderr: reason.to_owned(),
        }
    }

    /// Only once: its number may be reused afterwards.
    fn end(&mut self) {
        if !matches!(self.takt.try_wait(), Ok(None)) {
            return;
        }
        let _ = kill(Pid::from_raw(self.takt.id() as i32), Signal::SIGINT);
        let _ = self.takt.wait();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

fn file(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("terminal.flows")
}

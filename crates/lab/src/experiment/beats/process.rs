//! A running program of this experiment.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::script::{Record, Role, Script, Window};
use crate::experiment::command::lab_beside;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::namespace::Namespace;

const WORDS: [&str; 1] = ["beat"];

/// Killed when it is dropped.
pub struct Process(Child);

impl Process {
    /// Starts the threads in one process of its own, in a network namespace.
    pub fn start(
        takt: &Path,
        namespace: Namespace,
        window: Window,
        threads: Vec<Role>,
    ) -> Result<Self> {
        let script = serde_json::to_vec(&Script { window, threads })
            .map_err(std::io::Error::from)
            .doing("describe a program's threads")?;
        namespace.run(|| {
            let mut child = Command::new(lab_beside(takt))
                .args(WORDS)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|source| ExperimentError::Start {
                    program: lab_beside(takt).to_string_lossy().into_owned(),
                    source,
                })?;
            let input = child.stdin.take();
            let process = Self(child);
            if let Some(mut input) = input {
                input.write_all(&script).doing("write a script")?;
            }
            Ok(process)
        })
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits until it has ended by itself; the records are in the order of the threads.
    pub fn finish(mut self) -> Result<Vec<Record>> {
        let command = || format!("takt lab {}", WORDS.join(" "));
        let records = self
            .0
            .stdout
            .take()
            .map(|output| serde_json::from_reader(std::io::BufReader::new(output)));
        let status = self.0.wait().doing("wait for a program's threads")?;
        if !status.success() {
            return Err(ExperimentError::Command {
                command: command(),
                stderr: status.to_string(),
            });
        }
        match records {
            Some(Ok(records)) => Ok(records),
            Some(Err(error)) => Err(ExperimentError::Output {
                command: command(),
                reason: error.to_string(),
            }),
            None => Ok(Vec::new()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

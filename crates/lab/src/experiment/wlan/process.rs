//! The running radio process, seen from the experiment.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::cards;
use super::script::{Script, Statistics};
use crate::experiment::command::lab_beside;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};

const WORDS: [&str; 1] = ["radio"];
/// Its message when its devices exist, with the zero of the medium's clock.
pub const READY: &str = "ready";

/// Ends, with its devices, when this is dropped.
pub struct Process {
    child: Child,
    /// The radio is on for as long as this is open.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The zero of the medium's clock, in CLOCK_MONOTONIC.
    pub began_ns: u64,
}

impl Process {
    /// Returns when its devices exist.
    pub fn start(takt: &Path, script: &Script) -> Result<Self> {
        cards::remove_leftovers()?;
        let mut child = Command::new(lab_beside(takt))
            .args(WORDS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| ExperimentError::Start {
                program: lab_beside(takt).to_string_lossy().into_owned(),
                source,
            })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for");
        };
        let mut process = Self {
            child,
            input: Some(input),
            output: BufReader::new(output),
            began_ns: 0,
        };
        let mut script = serde_json::to_vec(script)
            .map_err(std::io::Error::from)
            .doing("describe the radio")?;
        script.push(b'\n');
        if let Some(input) = &mut process.input {
            input.write_all(&script).doing("tell the radio process")?;
        }
        let mut line = String::new();
        process
            .output
            .read_line(&mut line)
            .doing("wait for the radio process")?;
        let began_ns = line.trim_end().strip_prefix(READY);
        match began_ns.and_then(|began_ns| began_ns.trim_start().parse().ok()) {
            Some(began_ns) => {
                process.began_ns = began_ns;
                Ok(process)
            }
            // It has reported its error on standard error.
            None => Err(process.ended()),
        }
    }

    /// Switches the radio off; returns the air's statistics.
    pub fn finish(mut self) -> Result<Statistics> {
        self.input = None;
        let statistics = serde_json::from_reader(&mut self.output);
        let status = self.child.wait().doing("wait for the radio process")?;
        match statistics {
            Ok(statistics) if status.success() => Ok(statistics),
            _ => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> ExperimentError {
        self.input = None;
        ExperimentError::Command {
            command: format!("takt lab {}", WORDS.join(" ")),
            stderr: match self.child.wait() {
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            },
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        // It removes its devices itself, unless it was killed.
        let _ = self.child.wait();
        if let Err(error) = cards::remove_leftovers() {
            eprintln!("while cleaning up: {error}");
        }
    }
}

//! The wire's process, seen from the experiment.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Serialize;

use super::script::{Counts, Order, Script};
use crate::experiment::card::Card;
use crate::experiment::command::lab_beside;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};

const WORDS: [&str; 1] = ["wire"];
/// Its message when its devices exist, with the zero of the wire's clock.
pub const READY: &str = "ready";

/// Ends, with its devices, when this is dropped.
pub struct Process {
    child: Child,
    /// The wire is there for as long as this is open.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    names: [String; 2],
    /// The zero of the wire's clock, in CLOCK_MONOTONIC.
    pub began_ns: u64,
}

impl Process {
    /// Returns when its devices exist.
    pub fn start(takt: &Path, script: &Script) -> Result<Self> {
        let names = script.ends.clone().map(|end| end.name);
        names
            .iter()
            .try_for_each(|name| Card::remove_leftover(name))?;
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
            names,
            began_ns: 0,
        };
        let line = process.tell(script)?;
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

    /// Gives an order; returns what has gone over the wire.
    pub fn order(&mut self, order: &Order) -> Result<Counts> {
        let line = self.tell(order)?;
        match serde_json::from_str(&line) {
            Ok(counts) => Ok(counts),
            Err(_) => Err(self.ended()),
        }
    }

    /// Returns its answer.
    fn tell(&mut self, what: &impl Serialize) -> Result<String> {
        let mut text = serde_json::to_vec(what)
            .map_err(std::io::Error::from)
            .doing("describe the wire")?;
        text.push(b'\n');
        if let Some(input) = &mut self.input {
            input.write_all(&text).doing("tell the wire's process")?;
        }
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .doing("wait for the wire's process")?;
        Ok(line)
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
        for name in &self.names {
            if let Err(error) = Card::remove_leftover(name) {
                eprintln!("while cleaning up: {error}");
            }
        }
    }
}

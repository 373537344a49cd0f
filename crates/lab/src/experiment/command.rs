//! Runs the programs that set an experiment up.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::error::{ExperimentError, Result};

/// The place of rt-tests' hackbench in the machine.
pub const HACKBENCH: &str = "/add/hackbench";

/// The laboratory's own program, for the processes of an experiment. It lies beside takt.
pub fn lab_beside(takt: &Path) -> PathBuf {
    takt.with_file_name("takt-lab")
}

/// Runs a program to its end and returns its output.
pub fn run<S: AsRef<OsStr>>(program: S, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(arguments);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| not_started(&command, source))?;
    printed(&command, output)
}

/// Gives `tc` all lines at once: one process for thousands of classes.
pub fn tc_batch(lines: &[String]) -> Result<()> {
    let mut script = lines.join("\n");
    script.push('\n');
    batch("tc", &script)
}

/// Gives `ip` all lines at once.
pub fn ip_batch(script: &str) -> Result<()> {
    batch("ip", script)
}

fn batch(program: &str, script: &str) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["-batch", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| not_started(&command, source))?;
    if let Some(mut input) = child.stdin.take() {
        // It stops reading at its first error. Its message on stderr is the error to report,
        // not this broken pipe.
        let _ = input.write_all(script.as_bytes());
    }
    let output = child
        .wait_with_output()
        .map_err(|source| not_started(&command, source))?;
    printed(&command, output).map(drop)
}

fn printed(command: &Command, output: Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ExperimentError::Command {
        command: shown(command),
        stderr: if stderr.is_empty() {
            output.status.to_string()
        } else {
            stderr
        },
    })
}

fn not_started(command: &Command, source: std::io::Error) -> ExperimentError {
    ExperimentError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    }
}

fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

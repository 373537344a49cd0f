//! Running programs, and reading their output.

use std::{
    fmt::{self, Display},
    process::{Command, Output},
};

use serde_json::Value;

/// A program that ran.
pub struct Ran {
    line: String,
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command line, which is cut at its blanks.
pub fn run(line: &str) -> Ran {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a command");
    run_command(Command::new(program).args(words))
}

pub fn run_command(command: &mut Command) -> Ran {
    let line = format!("{command:?}");
    match command.output() {
        Ok(done) => Ran::new(line, &done),
        Err(error) => panic!("{line}: {error}"),
    }
}

/// Runs a command line in namespace b, the far end of every wire.
pub fn run_far(line: &str) -> Ran {
    run(&format!("ip netns exec b {line}"))
}

impl Ran {
    pub fn new(line: String, done: &Output) -> Self {
        Self {
            line,
            status: done.status.code(),
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
        }
    }

    /// Its standard output, if it succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        self.ends_with(0).stdout
    }

    #[track_caller]
    pub fn ends_with(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self}");
        self
    }

    /// Assert that its standard output or error contains all this.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            let said = self.stdout.contains(part) || self.stderr.contains(part);
            assert!(said, "{part:?} is not said by\n{self}");
        }
        self
    }

    /// Its standard output, which must be one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("not JSON: {error}\n{self}"),
        }
    }
}

impl Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self {
            line,
            status,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "$ {line}\nstatus {status:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        )
    }
}

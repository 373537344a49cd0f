//! A taktd, and what it is told by whom.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::{net::UnixStream, process::CommandExt},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    owners::ALICE,
    shell::{Ran, run_command},
};

pub const SOCKET: &str = "/run/taktd/socket";

/// A taktd of the test's own, which takes back what it did when this is dropped.
pub struct Daemon(pub Child);

impl Daemon {
    pub fn start() -> Self {
        let mut child = Command::new("taktd")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, format!("taktd: listening on {SOCKET}\n"));
        Self(child)
    }

    /// Ended by this signal, and well if that can be.
    #[track_caller]
    pub fn ends_with(mut self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
        let status = self.0.wait().unwrap();
        assert_eq!(status.success(), signal != Signal::SIGKILL, "{status}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Its number may be somebody else's by now.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
            let _ = self.0.wait();
        }
    }
}

pub fn as_alice(arguments: &str) -> Ran {
    let mut command = Command::new("takt");
    command.args(arguments.split_whitespace());
    run_command(command.uid(ALICE).gid(ALICE))
}

/// A line to taktd; its answer.
pub fn say(line: &str) -> Value {
    let mut stream = UnixStream::connect(SOCKET).unwrap();
    stream.write_all(line.as_bytes()).unwrap();
    stream.write_all(b"\n").unwrap();
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

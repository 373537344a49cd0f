//! A taktd, and requests to it by different users.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::{net::UnixStream, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    machine::has_systemd,
    owners::ALICE,
    shell::{Ran, run_command},
    systemd,
};

pub const SOCKET: &str = "/run/taktd/socket";
pub const ROOT_SOCKET: &str = "/run/taktd/root";

/// A taktd of the test's own, which takes its changes back when this is dropped.
pub enum Daemon {
    Child(Child),
    /// The taktd of the unit, with its process.
    Unit(u32),
}

const UNIT: &str = "taktd";

impl Daemon {
    pub fn start() -> Self {
        if has_systemd() {
            systemd::start(UNIT);
            systemd::wait_until("taktd listens", || UnixStream::connect(SOCKET).is_ok());
            return Self::Unit(systemd::property(UNIT, "MainPID").parse().unwrap());
        }
        let mut child = Command::new("taktd")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, format!("taktd: listening on {SOCKET}\n"));
        Self::Child(child)
    }

    pub fn id(&self) -> u32 {
        match self {
            Self::Child(child) => child.id(),
            Self::Unit(pid) => *pid,
        }
    }

    /// Ends it by this signal, with status 0 where possible; returns how long it took.
    #[track_caller]
    pub fn ends_with(mut self, signal: Signal) -> Duration {
        if matches!(self, Self::Unit(_)) {
            // The next test's client would start another one.
            systemd::systemctl(&format!("stop {}", systemd::SOCKETS)).ok();
        }
        let began = Instant::now();
        kill(Pid::from_raw(self.id() as i32), signal).unwrap();
        let (took, is_well) = match &mut self {
            Self::Child(child) => {
                let status = child.wait().unwrap();
                (began.elapsed(), status.success())
            }
            Self::Unit(pid) => {
                let process = format!("/proc/{pid}");
                systemd::wait_until("taktd ends", || !Path::new(&process).exists());
                let took = began.elapsed();
                systemd::wait_until("its unit ends", || !is_up());
                (took, systemd::property(UNIT, "Result") == "success")
            }
        };
        assert_eq!(is_well, signal != Signal::SIGKILL);
        took
    }
}

/// Removes the files of a taktd that an earlier test killed, as the next one would when it ends.
pub fn sweep() {
    if !has_systemd() && UnixStream::connect(SOCKET).is_err() {
        let _ = fs::remove_dir_all("/run/taktd");
    }
}

fn is_up() -> bool {
    let state = systemd::property(UNIT, "ActiveState");
    !["inactive", "failed"].contains(&state.as_str())
}

impl Drop for Daemon {
    fn drop(&mut self) {
        match self {
            Self::Child(child) => {
                // Its number may belong to another process by now.
                if let Ok(None) = child.try_wait() {
                    let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
                    let _ = child.wait();
                }
            }
            Self::Unit(_) => {
                let _ = systemd::systemctl(&format!("stop {} taktd", systemd::SOCKETS));
                let _ = systemd::systemctl("reset-failed taktd");
            }
        }
    }
}

pub fn as_alice(arguments: &str) -> Ran {
    let mut command = Command::new("takt");
    command.args(arguments.split_whitespace());
    run_command(command.uid(ALICE).gid(ALICE))
}

/// Sends a line to taktd; returns its answer.
pub fn say(line: &str) -> Value {
    say_at(SOCKET, line)
}

pub fn say_at(socket: &str, line: &str) -> Value {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(line.as_bytes()).unwrap();
    stream.write_all(b"\n").unwrap();
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

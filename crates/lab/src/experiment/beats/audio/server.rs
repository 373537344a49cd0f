//! A running jackd with its driver that has a timer for a sound card.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::experiment::beats::clock::now_ns;
use crate::experiment::beats::program::exact_timers;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::A;

/// Its place in the image, and that of its driver.
const PROGRAM: &str = "/add/jackd";
const DRIVERS: (&str, &str) = ("JACK_DRIVER_DIR", "/add");
/// Where clients of root find it.
const SOCKET: &str = "/dev/shm/jack_default_0_0";
const PATIENCE_NS: u64 = 20_000_000_000;
const LOOKS_EVERY: Duration = Duration::from_millis(10);
/// Above threaded interrupts (50). JACK gives its clients five less.
const REALTIME: [&str; 3] = ["--realtime", "--realtime-priority", "80"];
const ORDINARY: [&str; 1] = ["--no-realtime"];
const DRIVER: [&str; 6] = ["-d", "dummy", "--rate", "48000", "--period", "64"];
/// What it prints for each, be it the driver's or a client's.
const XRUN: &str = "XRun";

/// Ended when it is dropped.
pub struct Server {
    child: Child,
    /// It prints into a file, so that it never waits for a reader.
    printed: PathBuf,
    _directory: TempDir,
}

impl Server {
    /// Returns when clients may come.
    pub fn start(is_realtime: bool) -> Result<Self> {
        let directory = tempfile::tempdir().doing("make a directory")?;
        let printed = directory.path().join("jackd");
        let output = File::create(&printed).doing("make a file")?;
        let also = output.try_clone().doing("make a file")?;
        let mut command = Command::new(PROGRAM);
        command.args(if is_realtime {
            &REALTIME[..]
        } else {
            &ORDINARY
        });
        command.args(DRIVER).env(DRIVERS.0, DRIVERS.1);
        command.stdin(Stdio::null()).stdout(output).stderr(also);
        let child = A.run(|| {
            exact_timers()?;
            command.spawn().map_err(|source| ExperimentError::Start {
                program: PROGRAM.to_owned(),
                source,
            })
        })?;
        let server = Self {
            child,
            printed,
            _directory: directory,
        };
        let until_ns = now_ns() + PATIENCE_NS;
        while !Path::new(SOCKET).exists() {
            if now_ns() > until_ns {
                return Err(ExperimentError::Command {
                    command: PROGRAM.to_owned(),
                    stderr: server.log(),
                });
            }
            std::thread::sleep(LOOKS_EVERY);
        }
        Ok(server)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn xruns(&self) -> u64 {
        xruns_in(&self.log())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.printed).unwrap_or_default()
    }
}

fn xruns_in(log: &str) -> u64 {
    log.lines().filter(|line| line.contains(XRUN)).count() as u64
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xruns_are_the_drivers_and_the_clients() {
        let log = "JACK server starting in non-realtime mode\n\
                   JackTimedDriver::Process XRun = 12 usec\n\
                   JackEngine::XRun: client = mixer was not finished, state = Triggered\n\
                   JackAudioDriver::ProcessGraphAsyncMaster: Process error\n";
        assert_eq!(xruns_in(log), 2);
    }
}

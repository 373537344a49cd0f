//! The guard: a child of the takt that applies a policy on trial. It outlives its terminal, and
//! takes the policy back if that takt does not.

use std::{
    io::{self, Read, Write},
    os::fd::AsFd,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{SigHandler, Signal, signal},
    unistd::setsid,
};
use takt_host::{Pending, Role, Turn};

use super::{TICK, wait_for};
use crate::exit::Exit;

/// The guard's message that signals of the terminal do not reach it any more.
const READY: &[u8] = b"r";
/// takt's message that the policy is in force. End of input means that takt has ended.
const APPLIED: &[u8] = b"a";

/// How long a program may take to start, or to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often restoring the state before is tried, five seconds apart.
const TRIES: u32 = 60;

pub struct Guard(Child);

impl Guard {
    /// Start it, and wait until it is ready.
    pub fn start(id: &str) -> io::Result<Self> {
        let child = Command::new(std::env::current_exe()?)
            .args(["guard", id])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut guard = Self(child);
        match guard.says_ready() {
            Ok(()) => Ok(guard),
            Err(error) => {
                let _ = guard.0.kill();
                let _ = guard.0.wait();
                Err(error)
            }
        }
    }

    fn says_ready(&mut self) -> io::Result<()> {
        let Some(mut stdout) = self.0.stdout.take() else {
            return Err(io::Error::other("it has no output"));
        };
        wait_for(&[stdout.as_fd()], PATIENCE);
        let mut ready = [0];
        nix::fcntl::fcntl(
            &stdout,
            nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK),
        )?;
        match stdout.read(&mut ready) {
            Ok(1) => Ok(()),
            Ok(_) => Err(io::Error::other("it exited at once")),
            Err(error) => Err(error),
        }
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Tell the guard that the policy is in force. A guard that was killed does not read it, and
    /// takt goes on without one.
    pub fn tell(&mut self) {
        if let Some(stdin) = &mut self.0.stdin {
            let _ = stdin.write_all(APPLIED);
        }
    }

    /// The trial is decided: the guard reads that itself, and ends.
    pub fn dismiss(mut self) {
        drop(self.0.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The guard's own part, in its own process.
pub fn run(id: &str) -> Exit {
    // Ctrl-C is for takt, and neither process ends with the terminal.
    let _ = setsid();
    // SAFETY: the signal is ignored, and no handler runs.
    let _ = unsafe { signal(Signal::SIGHUP, SigHandler::SigIgn) };
    let _ = io::stdout().write_all(READY);
    let _ = io::stdout().flush();
    let mut takt = io::stdin();
    let mut takt_runs = hears(&mut takt);
    let Ok(Some(mut pending)) = Pending::find(id) else {
        // The policy was not applied, or the trial is decided by now.
        return Exit::Done;
    };
    let mut tries = 0;
    loop {
        let Ok(stage) = pending.stage() else {
            return Exit::Failed;
        };
        match stage.turn(Role::Guard { takt_runs }) {
            Turn::End => return Exit::Done,
            Turn::Wait { time_ns } => {
                let time = Duration::from_nanos(time_ns).min(TICK);
                if takt_runs {
                    wait_for(&[takt.as_fd()], time);
                    takt_runs = !has_ended(&mut takt);
                } else {
                    thread::sleep(time);
                }
            }
            Turn::TakeBack => match pending.take_back() {
                Ok(_) => return Exit::Done,
                Err(_) if tries == TRIES => return Exit::Failed,
                // There may be no room to record it; do not retry at once in any case.
                Err(_) => {
                    tries += 1;
                    thread::sleep(TICK);
                }
            },
        }
    }
}

/// Wait for a message of takt's. Returns whether it came, rather than takt's end.
fn hears(takt: &mut impl Read) -> bool {
    loop {
        match takt.read(&mut [0]) {
            Ok(count) => return count > 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// Whether takt has ended; it sends no further message.
fn has_ended(takt: &mut io::Stdin) -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let mut fds = [PollFd::new(takt.as_fd(), PollFlags::POLLIN)];
    let ready = matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..));
    ready && !hears(takt)
}

//! `takt apply --confirm`: keep a policy only if somebody says so in time.
//!
//! A guard process of its own is started before anything changes. It restores
//! what was there before unless it is told that the policy was confirmed, so it
//! does its duty even if this process is killed or its terminal is gone.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};
use takt_kernel::{Ending, Options, Source};

use crate::exit::Exit;

const CONFIRMED: &[u8] = b"confirmed\n";

/// What the guard puts back: the policy before, or none.
#[derive(Serialize, Deserialize)]
struct Before(Option<Source>);

pub struct Guard(Child);

impl Guard {
    /// Start the guard, which holds on to the state of now.
    pub fn start() -> Result<Self, String> {
        let before = takt_kernel::applied_policy().map_err(|error| error.to_string())?;
        let start = || -> io::Result<Child> {
            let mut child = Command::new(std::env::current_exe()?)
                .arg("guard")
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                // Ctrl-C in the terminal must not reach it.
                .process_group(0)
                .spawn()?;
            let told = serde_json::to_string(&Before(before))?;
            if let Some(stdin) = &mut child.stdin {
                writeln!(stdin, "{told}")?;
            }
            Ok(child)
        };
        start()
            .map(Self)
            .map_err(|error| format!("starting the guard: {error}"))
    }

    /// The policy stays.
    pub fn dismiss(mut self) -> Exit {
        let told = match &mut self.0.stdin {
            Some(stdin) => stdin.write_all(CONFIRMED),
            None => Ok(()),
        };
        match told.and_then(|()| self.0.wait()) {
            Ok(_) => Exit::Done,
            Err(_) => Exit::Failed,
        }
    }

    /// The policy goes; returns when the state before is back.
    pub fn release(mut self) -> bool {
        drop(self.0.stdin.take());
        self.0.wait().is_ok_and(|status| status.success())
    }
}

/// Whether somebody presses Enter in time. A standard input that ends without
/// it is nobody.
pub fn asked(patience: Duration) -> bool {
    let stdin = io::stdin();
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut ready = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, timeout) {
            Ok(0) | Err(_) if left.is_zero() => return false,
            Ok(0) | Err(_) => continue,
            Ok(_) => {}
        }
        let mut line = String::new();
        return match stdin.lock().read_line(&mut line) {
            Ok(length) if length > 0 => true,
            _ => {
                std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
                false
            }
        };
    }
}

/// The guard's own part, in its own process.
pub fn guard() -> Exit {
    let mut input = BufReader::new(io::stdin());
    let mut told = String::new();
    let before = input
        .read_line(&mut told)
        .ok()
        .and_then(|_| serde_json::from_str::<Before>(&told).ok());
    let Some(Before(before)) = before else {
        return Exit::Failed;
    };
    let mut answer = Vec::new();
    let heard = input.read_to_end(&mut answer).is_ok();
    if heard && answer == CONFIRMED {
        return Exit::Done;
    }
    match before {
        // Threads that joined on their own terms did so without a policy.
        None => {
            takt_kernel::revert(Ending::Policy).map_or_else(|error| (&error).into(), |_| Exit::Done)
        }
        Some(source) => match takt_policy::parse_in(&source.folder, &source.name, &source.text) {
            Err(_) => Exit::Failed,
            Ok(policy) => takt_kernel::apply(&policy, &source, Options::default())
                .map_or_else(|error| (&error).into(), |_| Exit::Done),
        },
    }
}

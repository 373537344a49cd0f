//! Processes that end with this one, and within a bounded time.

use std::{
    collections::BTreeMap,
    fmt, io,
    os::unix::process::CommandExt,
    process::{Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

/// The time that a process has to end by itself after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// Processes that run, each in a process group of its own.
pub struct Children {
    running: BTreeMap<usize, Child>,
    begun: usize,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

struct Child {
    group: Pid,
    began: Instant,
    limit: Duration,
    is_late: bool,
}

enum Event {
    Ended(usize, io::Result<ExitStatus>),
    Signal(i32),
}

/// A process has ended.
#[derive(Debug)]
pub struct Ended {
    /// As [`Children::start`] returned it.
    pub child: usize,
    pub took: Duration,
    pub how: How,
}

/// How a process has ended.
#[derive(Debug)]
pub enum How {
    Status(ExitStatus),
    /// After this time it was killed.
    Late(Duration),
}

impl How {
    pub fn is_success(&self) -> bool {
        matches!(self, How::Status(status) if status.success())
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            How::Status(status) => status.fmt(f),
            How::Late(limit) => write!(
                f,
                "killed because it had not ended after {} minutes",
                limit.as_secs().div_ceil(60)
            ),
        }
    }
}

/// A signal that asks this process to end.
#[derive(Debug)]
pub struct Interrupted(pub i32);

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ended by signal {}", self.0)
    }
}

impl std::error::Error for Interrupted {}

impl Children {
    /// From here on, signals that ask this process to end are events of its children.
    pub fn new() -> anyhow::Result<Children> {
        let (sender, events) = mpsc::channel();
        let mut signals =
            Signals::new([SIGHUP, SIGINT, SIGTERM]).context("signals cannot be caught")?;
        let of_signals = sender.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                if of_signals.send(Event::Signal(signal)).is_err() {
                    return;
                }
            }
        });
        Ok(Children {
            running: BTreeMap::new(),
            begun: 0,
            sender,
            events,
        })
    }

    /// Start a process without input, which may run for `limit`.
    pub fn start(&mut self, command: &mut Command, limit: Duration) -> anyhow::Result<usize> {
        let program = command.get_program().to_owned();
        let mut process = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let which = self.begun;
        self.begun += 1;
        let group = Pid::from_raw(process.id().try_into().context("no process id")?);
        let sender = self.sender.clone();
        // It ends with the process, for which there is a limit.
        thread::spawn(move || sender.send(Event::Ended(which, process.wait())));
        let child = Child {
            group,
            began: Instant::now(),
            limit,
            is_late: false,
        };
        self.running.insert(which, child);
        Ok(which)
    }

    /// Wait until one of them ends; at once if none runs. An error is [`Interrupted`], and then none
    /// runs any more.
    pub fn next(&mut self) -> anyhow::Result<Option<Ended>> {
        while !self.running.is_empty() {
            match self.events.recv_timeout(self.patience()) {
                Ok(Event::Ended(which, status)) => {
                    let Some(child) = self.running.remove(&which) else {
                        continue;
                    };
                    return Ok(Some(Ended {
                        child: which,
                        took: child.began.elapsed(),
                        how: if child.is_late {
                            How::Late(child.limit)
                        } else {
                            How::Status(status.context("a process is lost")?)
                        },
                    }));
                }
                Ok(Event::Signal(signal)) => {
                    self.end_all();
                    return Err(Interrupted(signal).into());
                }
                Err(RecvTimeoutError::Timeout) => self.kill_late(),
                Err(RecvTimeoutError::Disconnected) => unreachable!("this has a sender, too"),
            }
        }
        Ok(None)
    }

    /// Start one process and wait for it, while no other runs.
    pub fn run(&mut self, command: &mut Command, limit: Duration) -> anyhow::Result<How> {
        self.start(command, limit)?;
        let ended = self.next()?.context("a process is lost")?;
        Ok(ended.how)
    }

    /// End all processes that run: by SIGTERM, and after a while by SIGKILL.
    pub fn end_all(&mut self) {
        self.signal_all(Signal::SIGTERM);
        let until = Instant::now() + GRACE;
        while !self.running.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(Event::Ended(which, _)) => {
                    self.running.remove(&which);
                }
                Ok(Event::Signal(_)) => break,
                Err(_) => break,
            }
        }
        self.signal_all(Signal::SIGKILL);
        self.running.clear();
    }

    fn signal_all(&self, signal: Signal) {
        for child in self.running.values() {
            // One that has just ended cannot be signalled, and need not be.
            let _ = killpg(child.group, signal);
        }
    }

    /// The time until the first is late.
    fn patience(&self) -> Duration {
        let on_time = self.running.values().filter(|child| !child.is_late);
        let left = on_time.map(|child| child.limit.saturating_sub(child.began.elapsed()));
        left.min().unwrap_or(GRACE)
    }

    fn kill_late(&mut self) {
        for child in self.running.values_mut() {
            if child.began.elapsed() >= child.limit {
                child.is_late = true;
                let _ = killpg(child.group, Signal::SIGKILL);
            }
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.end_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// None of these tests waits for so long.
    const LONG: Duration = Duration::from_secs(600);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn each_tells_how_it_ended() {
        let mut children = Children::new().unwrap();
        let waits = children.start(&mut shell("sleep 600"), LONG).unwrap();
        let fails = children.start(&mut shell("exit 3"), LONG).unwrap();
        let ended = children.next().unwrap().unwrap();
        assert_eq!(ended.child, fails);
        assert!(!ended.how.is_success());
        assert_eq!(ended.how.to_string(), "exit status: 3");
        assert!(children.running.contains_key(&waits));
        children.end_all();
        assert!(children.next().unwrap().is_none());
    }

    #[test]
    fn a_process_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        // The shell's child holds the pipe open until it is killed.
        let mut hangs = shell("trap '' TERM; sleep 600 >\"$0\" & wait");
        hangs.arg(&fifo);
        let mut children = Children::new().unwrap();
        children.start(&mut hangs, Duration::from_secs(1)).unwrap();
        let mut reader = std::fs::File::open(&fifo).unwrap();
        let ended = children.next().unwrap().unwrap();
        assert!(matches!(ended.how, How::Late(_)), "{:?}", ended.how);
        assert_eq!(io::Read::read(&mut reader, &mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_signal_ends_all() {
        let mut children = Children::new().unwrap();
        children.start(&mut shell("sleep 600"), LONG).unwrap();
        children.sender.send(Event::Signal(SIGTERM)).unwrap();
        let error = children.next().unwrap_err();
        assert_eq!(error.to_string(), "ended by signal 15");
        assert!(children.running.is_empty());
    }
}

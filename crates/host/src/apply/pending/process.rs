//! Who applied a policy, and whether the responsible processes run.

use std::{fs, io};

use nix::unistd::{Uid, User, ttyname};
use serde::{Deserialize, Serialize};

/// What /proc/PID/loginuid holds of a process without a login.
const NO_LOGIN: u32 = u32::MAX;

/// Who made a change: the user who logged in, also under sudo, else the process's user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admin {
    /// Their number.
    pub uid: u32,
    /// Their name; `None` if the number has none here.
    pub user: Option<String>,
    /// The takt they ran.
    pub pid: u32,
    /// Its terminal, such as `/dev/pts/3`, if it had one.
    pub tty: Option<String>,
}

impl Admin {
    pub(super) fn of_this_process() -> Self {
        let login = fs::read_to_string("/proc/self/loginuid").ok();
        let login = login.and_then(|uid| uid.trim().parse().ok());
        let uid = login
            .filter(|uid| *uid != NO_LOGIN)
            .unwrap_or_else(|| Uid::current().as_raw());
        let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
        let tty = ttyname(io::stdin())
            .or_else(|_| ttyname(io::stdout()))
            .or_else(|_| ttyname(io::stderr()));
        Self {
            uid,
            user: user.map(|user| user.name),
            pid: std::process::id(),
            tty: tty.ok().map(|tty| tty.display().to_string()),
        }
    }
}

impl std::fmt::Display for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match &self.user {
            Some(user) => write!(f, "{user}")?,
            None => write!(f, "user {}", self.uid)?,
        }
        match &self.tty {
            Some(tty) => write!(f, " (pid {}, {tty})", self.pid),
            None => write!(f, " (pid {})", self.pid),
        }
    }
}

/// A process, identified by its number and its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pid: u32,
    started_ticks: u64,
}

impl Process {
    pub fn own() -> Self {
        Self::new(std::process::id())
    }

    /// A process that has ended has no start time, and never counts as running.
    pub fn new(pid: u32) -> Self {
        Self {
            pid,
            started_ticks: read(pid).unwrap_or_default(),
        }
    }

    pub fn runs(self) -> bool {
        read(self.pid) == Some(self.started_ticks)
    }
}

fn read(pid: u32) -> Option<u64> {
    start_of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The start time in a line of `/proc/PID/stat`; `None` if the process has ended.
fn start_of(stat: &str) -> Option<u64> {
    // The name comes first and may contain any character.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let started = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_one_that_has_ended_does_not() {
        assert!(Process::own().runs());
        let earlier = Process {
            started_ticks: Process::own().started_ticks - 1,
            ..Process::own()
        };
        assert!(!earlier.runs());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = Process::new(child.id());
        child.wait().unwrap();
        assert!(!process.runs());
    }

    #[test]
    fn the_start_comes_after_any_name() {
        let line = |state: &str| {
            format!("7 (a) b) {state} 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 2 3")
        };
        assert_eq!(start_of(&line("S")), Some(4242));
        assert_eq!(start_of(&line("T")), Some(4242));
        assert_eq!(start_of(&line("Z")), None);
        assert_eq!(start_of(""), None);
    }

    #[test]
    fn an_administrator_by_name_or_number() {
        let mut admin = Admin {
            uid: 1000,
            user: None,
            pid: 812,
            tty: Some("/dev/pts/3".to_owned()),
        };
        assert_eq!(admin.to_string(), "user 1000 (pid 812, /dev/pts/3)");
        admin.user = Some("alice".to_owned());
        admin.tty = None;
        assert_eq!(admin.to_string(), "alice (pid 812)");
    }
}

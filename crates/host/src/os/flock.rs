//! Locks that end with the process, on directories and files that come and go. Waiting is
//! bounded, and the holder is named.

use std::{
    fmt::{self, Display},
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    sys::stat::{major, minor},
};
use serde::Serialize;

use crate::{error::Error, os::OsError};

const BETWEEN_TRIES: Duration = Duration::from_millis(2);
/// For files that are removed between opening and locking.
const TRIES_MIN: u32 = 16;
const COMMAND_MAX_CHARS: usize = 200;

/// Readers share a lock, a writer excludes all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// The process that has a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Its number in /proc; `None` if it is not visible here.
    pub pid: Option<i32>,
    /// Its command line; empty if it cannot be read.
    pub command: String,
}

/// Lock what `open` opens at `path`. The inner error is the process that has the lock.
pub(crate) fn lock(
    path: &Path,
    open: impl Fn() -> Result<File, Error>,
    mode: Mode,
    patience: Duration,
) -> Result<Result<Flock<File>, Holder>, Error> {
    let until = Instant::now() + patience;
    let how = match mode {
        Mode::Shared => FlockArg::LockSharedNonblock,
        Mode::Exclusive => FlockArg::LockExclusiveNonblock,
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let is_last = tries >= TRIES_MIN && Instant::now() >= until;
        let file = match Flock::lock(open()?, how) {
            Ok(lock) if is_at(path, &lock)? => return Ok(Ok(lock)),
            // Its last holder has removed it.
            Ok(lock) if is_last => return Ok(Err(Holder::for_file(&lock))),
            Ok(_) => continue,
            Err((file, Errno::EWOULDBLOCK)) => file,
            Err((_, Errno::EINTR)) if !is_last => continue,
            Err((_, errno)) => return Err(OsError::file(path)(errno.into())),
        };
        if Instant::now() >= until {
            return Ok(Err(Holder::for_file(&file)));
        }
        thread::sleep(BETWEEN_TRIES);
    }
}

/// Whether the file still has this name.
fn is_at(path: &Path, file: &File) -> Result<bool, Error> {
    let own = file.metadata().map_err(OsError::file(path))?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(OsError::file(path)(error)),
    }
}

impl Holder {
    pub(crate) fn unknown() -> Self {
        Self {
            pid: None,
            command: String::new(),
        }
    }

    /// The holder of a lock on this file.
    fn for_file(file: &File) -> Self {
        let pid = file.metadata().ok().and_then(|found| {
            let (device, inode) = (found.dev(), found.ino());
            let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
            holder_in(&fs::read_to_string("/proc/locks").ok()?, &file)
        });
        Self {
            pid,
            command: pid.map(command_of).unwrap_or_default(),
        }
    }
}

impl Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (self.pid, self.command.as_str()) {
            (None, _) => f.write_str("another process"),
            (Some(pid), "") => write!(f, "process {pid}"),
            (Some(pid), command) => write!(f, "process {pid} ({command})"),
        }
    }
}

/// From a list like /proc/locks. A line with an arrow is a waiting process.
fn holder_in(locks: &str, file: &str) -> Option<i32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            [_, "FLOCK", _, _, pid, of, ..] if of == file => {
                pid.parse().ok().filter(|pid| *pid > 0)
            }
            _ => None,
        }
    })
}

fn command_of(pid: i32) -> String {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let shown = String::from_utf8_lossy(&arguments).replace(char::is_control, " ");
    shown.trim_end().chars().take(COMMAND_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(path: &Path, mode: Mode) -> Result<Flock<File>, Holder> {
        let open = || File::open(path).map_err(OsError::file(path));
        lock(path, open, mode, Duration::from_millis(20)).unwrap()
    }

    #[test]
    fn the_holder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let held = take(dir.path(), Mode::Exclusive).unwrap();
        for mode in [Mode::Shared, Mode::Exclusive] {
            let holder = take(dir.path(), mode).expect_err("it is locked");
            let own = std::process::id() as i32;
            if let Some(pid) = holder.pid {
                assert_eq!(pid, own);
                assert!(!holder.command.is_empty());
            }
        }
        drop(held);
        let reader = take(dir.path(), Mode::Shared).unwrap();
        take(dir.path(), Mode::Shared).unwrap();
        take(dir.path(), Mode::Exclusive).expect_err("it is read");
        drop(reader);
        take(dir.path(), Mode::Exclusive).unwrap();
    }

    #[test]
    fn a_lock_on_what_was_taken_away_is_none() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("state");
        let open = || {
            let _ = fs::create_dir(&dir);
            File::open(&dir).map_err(OsError::file(&dir))
        };
        let first = lock(&dir, open, Mode::Exclusive, Duration::ZERO).unwrap();
        fs::remove_dir(&dir).unwrap();
        let second = lock(&dir, open, Mode::Exclusive, Duration::ZERO).unwrap();
        assert!(first.is_ok() && second.is_ok());
    }

    #[test]
    fn locks_as_proc_lists_them() {
        let locks = "1: POSIX  ADVISORY  WRITE 12 00:19:7 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 345 00:19:7 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 678 00:19:7 0 EOF\n\
                     3: FLOCK  ADVISORY  READ 9 00:19:8 0 EOF\n";
        assert_eq!(holder_in(locks, "00:19:7"), Some(345));
        assert_eq!(holder_in(locks, "00:19:8"), Some(9));
        assert_eq!(holder_in(locks, "00:19:9"), None);
    }
}

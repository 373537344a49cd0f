//! The lab's cache of downloads, shared by several processes.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::error::Doing;
use super::{Error, Result};

/// `$XDG_CACHE_HOME/takt` or `~/.cache/takt`, created if needed.
pub fn dir() -> Result<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let base = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .ok_or(Error::NoCacheDir)?;
    subdir_of(base, "takt")
}

/// A directory of that name in the cache.
pub fn subdir(name: &str) -> Result<PathBuf> {
    subdir_of(dir()?, name)
}

fn subdir_of(base: PathBuf, name: &str) -> Result<PathBuf> {
    let dir = base.join(name);
    fs::create_dir_all(&dir).doing(|| format!("create {}", dir.display()))?;
    Ok(dir)
}

/// Waits until no other process holds the lock file `name`; prints a message once if it has to
/// wait. The lock ends with the returned value, and with the process.
pub fn wait_turn(name: &str, waiting: &str) -> Result<Flock<File>> {
    if let Some(lock) = try_turn(name)? {
        return Ok(lock);
    }
    eprintln!("takt lab: {waiting}");
    Flock::lock(open(name)?, FlockArg::LockExclusive)
        .map_err(|(_, e)| e)
        .doing(|| format!("lock {name} in the lab's cache"))
}

/// The lock if it is free, else nothing.
pub fn try_turn(name: &str) -> Result<Option<Flock<File>>> {
    match Flock::lock(open(name)?, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, e)) => Err(e).doing(|| format!("lock {name} in the lab's cache")),
    }
}

fn open(name: &str) -> Result<File> {
    let path = dir()?.join(name);
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .doing(|| format!("open {}", path.display()))
}

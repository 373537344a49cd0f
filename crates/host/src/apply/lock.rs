//! The host's lock: one takt at a time changes a host, and others read a consistent state.

use std::{
    fs::{self, File},
    path::Path,
    time::Duration,
};

use nix::fcntl::Flock;

use crate::{
    beats::{Scheduler, softirq},
    bpf::pins,
    crowd,
    error::Error,
    helper,
    link::{program::Program, sockets::Sockets},
    os::flock::{self, Holder, Mode},
    radio,
    state::runtime_dir::{self, DIR},
};

/// How long a takt waits for another one. No takt holds the lock this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Directories that hold only records, one for each kind.
const RECORDS: [&str; 4] = ["links", "beats", "radio", "crowd"];

/// The lock of the takt that changes the host.
pub struct Lock {
    _dir: Flock<File>,
}

impl Lock {
    /// Locks [`DIR`] itself, which root alone can open. A takt that ends may remove it, so the
    /// lock counts only while the directory still has its name.
    pub fn take() -> Result<Self, Error> {
        Self::take_within(PATIENCE)
    }

    /// As [`Self::take`], for a caller that has less time.
    pub fn take_within(patience: Duration) -> Result<Self, Error> {
        pins::root()?;
        let dir = Path::new(DIR);
        let open = || runtime_dir::private_dir(dir);
        let lock = match flock::lock(dir, open, Mode::Exclusive, patience)? {
            Ok(dir) => Self { _dir: dir },
            Err(holder) => {
                let waited_s = patience.as_secs();
                return Err(Error::Busy { holder, waited_s });
            }
        };
        if let Err(error) = pins::tidy() {
            // The directory was not needed, unless something is managed.
            let _ = fs::remove_dir(dir);
            return Err(error);
        }
        Ok(lock)
    }

    /// The work is done, successfully or not: remove what the managed links do not need, and if
    /// no link is managed, everything.
    pub fn end(self) -> Result<(), Error> {
        helper::sweep();
        crowd::settle()?;
        match Program::open()? {
            Some(program) if !program.links()?.is_empty() => return Sockets::settle(&program),
            Some(program) => program.unload()?,
            None => pins::sweep()?,
        }
        if Scheduler::open()?.is_some() {
            return Ok(());
        }
        // The scheduler may have been removed by its pins, and the record stayed.
        softirq::restore()?;
        if radio::is_anywhere() || crowd::is_anywhere() {
            return Ok(());
        }
        for records in RECORDS {
            runtime_dir::remove_all(&Path::new(DIR).join(records))?;
        }
        self.leave();
        Ok(())
    }

    /// Remove the directory, unless it holds something, such as a helper's socket.
    fn leave(self) {
        let _ = fs::remove_dir(DIR);
    }
}

/// While a glance is held, no takt changes the host.
pub(crate) struct Glance {
    _dir: Flock<File>,
}

/// The result of asking for a [`Glance`].
pub(crate) enum Glanced {
    At(Glance),
    /// Nothing is managed, or its records were removed: there is nothing to lock.
    Nothing,
    /// A takt is changing the host.
    Changing(Holder),
}

impl Glance {
    pub fn take_within(patience: Duration) -> Result<Glanced, Error> {
        let dir = Path::new(DIR);
        let open = || runtime_dir::open_dir(dir);
        match flock::lock(dir, open, Mode::Shared, patience) {
            Ok(Ok(dir)) => Ok(Glanced::At(Self { _dir: dir })),
            Ok(Err(holder)) => Ok(Glanced::Changing(holder)),
            Err(error) if error.is_missing() => Ok(Glanced::Nothing),
            Err(error) => Err(error),
        }
    }
}

/// Remove the directory if it is empty, after waiting up to `patience` for a takt that has the
/// lock.
pub(crate) fn leave_empty(patience: Duration) {
    let dir = Path::new(DIR);
    let open = || runtime_dir::open_dir(dir);
    if let Ok(Ok(_lock)) = flock::lock(dir, open, Mode::Exclusive, patience) {
        let _ = fs::remove_dir(dir);
    }
}

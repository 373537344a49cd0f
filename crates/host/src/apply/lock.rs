//! The host's lock: one takt at a time changes a host, and others look at one moment of it.

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

/// How long a takt waits for another to end. None takes as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// What only records lie in, one directory for each kind.
const RECORDS: [&str; 4] = ["links", "beats", "radio", "crowd"];

/// One takt at a time changes the host.
pub struct Lock {
    _dir: Flock<File>,
}

impl Lock {
    /// Locks [`DIR`] itself, which root alone can open. A takt that ends may take it away, so the
    /// lock counts only while the directory still has its name.
    pub fn take() -> Result<Self, Error> {
        Self::take_within(PATIENCE)
    }

    /// Likewise, for a caller that has less time.
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
            // Made for nothing, unless something is managed.
            let _ = fs::remove_dir(dir);
            return Err(error);
        }
        Ok(lock)
    }

    /// The work is done, well or not: leave nothing that the links that are
    /// managed do not need, and if there are none, no trace.
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
        // Somebody may have taken the scheduler away with its pins, and this stayed.
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

    /// Take the directory away, unless something lies in it, such as a helper's socket.
    fn leave(self) {
        let _ = fs::remove_dir(DIR);
    }
}

/// While any is held, no takt changes the host.
pub(crate) struct Glance {
    _dir: Flock<File>,
}

/// What came of asking for a [`Glance`].
pub(crate) enum Glanced {
    At(Glance),
    /// Nothing is managed, or its records were taken away: there is nothing to lock.
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

/// Take the directory away if nothing is in it and no takt is at it, or only for a moment.
pub(crate) fn leave_empty(patience: Duration) {
    let dir = Path::new(DIR);
    let open = || runtime_dir::open_dir(dir);
    if let Ok(Ok(_lock)) = flock::lock(dir, open, Mode::Exclusive, patience) {
        let _ = fs::remove_dir(dir);
    }
}

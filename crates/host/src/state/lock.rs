//! The host's lock: one takt at a time changes a host, and others read a consistent state.

use std::{
    fs::{self, File},
    path::Path,
    time::Duration,
};

use nix::fcntl::Flock;

use crate::{
    error::Error,
    os::flock::{self, Holder, Mode},
    state::{
        StateError,
        runtime_dir::{self, DIR},
    },
};

/// The lock of the takt that changes the host: [`DIR`] itself, which root alone can open. A
/// takt that ends may remove it, so the lock counts only while the directory still has its
/// name.
pub(crate) struct Lock {
    _dir: Flock<File>,
}

impl Lock {
    pub fn take_within(patience: Duration) -> Result<Self, Error> {
        let dir = Path::new(DIR);
        let open = || runtime_dir::private_dir(dir);
        match flock::lock(dir, open, Mode::Exclusive, patience)? {
            Ok(dir) => Ok(Self { _dir: dir }),
            Err(holder) => {
                let waited_s = patience.as_secs();
                Err(StateError::Busy { holder, waited_s }.into())
            }
        }
    }

    /// Remove the directory, unless it holds something, such as a helper's socket.
    pub fn leave(self) {
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

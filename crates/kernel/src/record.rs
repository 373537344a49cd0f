//! What takt remembers of a link it manages: which policy, which class has
//! which id, and what stood there before.
//!
//! A record is a file named after the plan's generation and is written before
//! that plan takes effect. The plan in the kernel names the generation that is
//! in force, so record and plan change in the same instant, however takt ends.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use nix::fcntl::Flock;
use serde::{Deserialize, Serialize};
use takt_planner::ClassIds;

use crate::{
    beats::Scheduler,
    bpffs,
    buffer::QueueLimits,
    crowd,
    error::Error,
    flock::{self, Holder, Mode},
    helper, levels,
    netlink::Qdisc,
    port::Owner,
    program::Program,
    radio,
    runtime_dir::{self, DIR},
    sockets::Sockets,
};

const LEAVING: &str = "leaving";

/// The policy file as it was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What messages call the file.
    pub name: String,
    /// All of it.
    pub text: String,
    /// Where relative paths in it start.
    #[serde(default)]
    pub folder: PathBuf,
}

/// What `revert` puts back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// `None`: the kernel's default.
    pub qdisc: Option<Qdisc>,
    pub gso_max_segs: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub index: u32,
    pub generation: u64,
    pub device: String,
    pub owner: Owner,
    pub source: Source,
    pub ids: ClassIds,
    /// The segment limit that was set, if one was.
    pub gso_max_segs: Option<u32>,
    pub before: Before,
    /// What the device's queues may hold, if that was limited.
    pub queue_limits: Option<QueueLimits>,
}

impl Record {
    pub fn read(index: u32, generation: u64) -> Result<Option<Self>, Error> {
        let path = path(index, generation);
        let Some(text) = runtime_dir::read(&path)? else {
            return Ok(None);
        };
        let record = serde_json::from_str(&text);
        record.map(Some).map_err(|reason| Error::BadRecord {
            path,
            reason: reason.to_string(),
        })
    }

    /// Write the record next to the one in force, and not over it.
    pub fn write(&self) -> Result<(), Error> {
        runtime_dir::private_dirs(&dir(self.index))?;
        let path = path(self.index, self.generation);
        let text = serde_json::to_string_pretty(self).map_err(|reason| Error::BadRecord {
            path: path.clone(),
            reason: reason.to_string(),
        })?;
        replace_file(&path, &text)
    }

    /// It has not come into force, and will not.
    pub fn discard(&self) -> Result<(), Error> {
        runtime_dir::remove(&path(self.index, self.generation))
    }

    /// Remove all records of the link, and notes, but the record in force.
    pub fn sweep(&self) -> Result<(), Error> {
        let keep = path(self.index, self.generation);
        let dir = dir(self.index);
        for entry in fs::read_dir(&dir).map_err(Error::file(&dir))? {
            let path = entry.map_err(Error::file(&dir))?.path();
            if path != keep {
                fs::remove_file(&path).map_err(Error::file(&path))?;
            }
        }
        Ok(())
    }

    /// Note that the link's device is about to be given back: whoever finds the
    /// note, and the qdisc gone, knows that it was takt who took it away.
    pub fn note_leaving(index: u32) -> Result<(), Error> {
        let dir = dir(index);
        runtime_dir::private_dirs(&dir)?;
        runtime_dir::private_file(&dir.join(LEAVING)).map(drop)
    }

    /// It is not given back after all.
    pub fn note_staying(index: u32) -> Result<(), Error> {
        runtime_dir::remove(&dir(index).join(LEAVING))
    }

    pub fn is_leaving(index: u32) -> bool {
        dir(index).join(LEAVING).exists()
    }

    pub fn forget(index: u32) -> Result<(), Error> {
        let dir = dir(index);
        runtime_dir::remove_all(&dir)?;
        // Other links may have one still.
        let _ = dir.parent().map(fs::remove_dir);
        Ok(())
    }
}

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
        bpffs::root()?;
        let dir = Path::new(DIR);
        let open = || runtime_dir::private_dir(dir);
        let lock = match flock::lock(dir, open, Mode::Exclusive, patience)? {
            Ok(dir) => Self { _dir: dir },
            Err(holder) => {
                let waited_s = patience.as_secs();
                return Err(Error::Busy { holder, waited_s });
            }
        };
        if let Err(error) = bpffs::tidy() {
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
            None => bpffs::sweep()?,
        }
        if Scheduler::open()?.is_some() {
            return Ok(());
        }
        // Somebody may have taken the scheduler away with its pins, and this stayed.
        levels::restore()?;
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

/// Half a file must never bear the name of a whole one.
pub(crate) fn replace_file(path: &Path, text: &str) -> Result<(), Error> {
    runtime_dir::replace(path, text)
}

fn dir(index: u32) -> PathBuf {
    PathBuf::from(DIR).join("links").join(index.to_string())
}

fn path(index: u32, generation: u64) -> PathBuf {
    dir(index).join(format!("{generation}.json"))
}

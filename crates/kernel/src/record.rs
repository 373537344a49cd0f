//! What takt remembers of a link it manages: which policy, which class has
//! which id, and what stood there before.
//!
//! A record is a file named after the plan's generation and is written before
//! that plan takes effect. The plan in the kernel names the generation that is
//! in force, so record and plan change in the same instant, however takt ends.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use takt_planner::ClassIds;

use crate::{
    beats::Scheduler, bpffs, buffer::QueueLimits, crowd, error::Error, levels, netlink::Qdisc,
    port::Owner, program::Program, radio, sockets::Sockets,
};

pub(crate) const DIR: &str = "/run/takt";
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
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file(&path)(error)),
        };
        let record = serde_json::from_str(&text);
        record.map(Some).map_err(|reason| Error::BadRecord {
            path,
            reason: reason.to_string(),
        })
    }

    /// Write the record next to the one in force, and not over it.
    pub fn write(&self) -> Result<(), Error> {
        let dir = dir(self.index);
        fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
        let path = path(self.index, self.generation);
        let text = serde_json::to_string_pretty(self).map_err(|reason| Error::BadRecord {
            path: path.clone(),
            reason: reason.to_string(),
        })?;
        replace_file(&path, &text)
    }

    /// It has not come into force, and will not.
    pub fn discard(&self) -> Result<(), Error> {
        let path = path(self.index, self.generation);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&path)(error)),
            _ => Ok(()),
        }
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
        let path = dir.join(LEAVING);
        fs::create_dir_all(&dir)
            .and_then(|()| File::create(&path).map(drop))
            .map_err(Error::file(&path))
    }

    /// It is not given back after all.
    pub fn note_staying(index: u32) -> Result<(), Error> {
        let path = dir(index).join(LEAVING);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&path)(error)),
            _ => Ok(()),
        }
    }

    pub fn is_leaving(index: u32) -> bool {
        dir(index).join(LEAVING).exists()
    }

    pub fn forget(index: u32) -> Result<(), Error> {
        let dir = dir(index);
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&dir)(error)),
            _ => {
                // Other links may have one still.
                let _ = dir.parent().map(fs::remove_dir);
                Ok(())
            }
        }
    }
}

/// One takt at a time changes the host.
pub struct Lock {
    _root: Flock<File>,
}

impl Lock {
    /// Locks the BPF file system's own directory: every takt of the host finds
    /// it, and it need neither be made nor taken away.
    pub fn take() -> Result<Self, Error> {
        let root = bpffs::root()?;
        let dir = File::open(&root).map_err(Error::file(&root))?;
        let lock = Flock::lock(dir, FlockArg::LockExclusive)
            .map(|dir| Self { _root: dir })
            .map_err(|(_, errno)| Error::file(&root)(errno.into()))?;
        bpffs::sweep()?;
        Ok(lock)
    }

    /// The work is done, well or not: leave nothing that the links that are
    /// managed do not need, and if there are none, no trace.
    pub fn end(self) -> Result<(), Error> {
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
        match fs::remove_dir_all(DIR) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(DIR)(error)),
            _ => Ok(()),
        }
    }
}

/// Half a file must never bear the name of a whole one.
pub(crate) fn replace_file(path: &Path, text: &str) -> Result<(), Error> {
    let draft = path.with_extension("draft");
    File::create(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|error| {
            let _ = fs::remove_file(&draft);
            Error::file(path)(error)
        })
}

fn dir(index: u32) -> PathBuf {
    PathBuf::from(DIR).join("links").join(index.to_string())
}

fn path(index: u32, generation: u64) -> PathBuf {
    dir(index).join(format!("{generation}.json"))
}

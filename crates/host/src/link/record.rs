//! What takt remembers of a link that it manages: the policy, the ids of classes, and the state
//! before takt.
//!
//! A record is a file named after the plan's generation and is written before
//! that plan takes effect. The plan in the kernel names the generation that is
//! in force, so record and plan change in the same instant, however takt ends.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use takt_planner::ClassIds;

use crate::{
    error::Error,
    link::{buffer::QueueLimits, memory::Owner},
    os::netlink::Qdisc,
    state::{
        runtime_dir::{self, DIR},
        source::Source,
        store::Store,
    },
};

const LEAVING: &str = "leaving";

/// What `revert` restores.
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
    /// The limits of the device's queues, if they were limited.
    pub queue_limits: Option<QueueLimits>,
}

impl Record {
    pub fn read(index: u32, generation: u64) -> Result<Option<Self>, Error> {
        store(index).read(generation)
    }

    /// Write the record beside the one in force, without replacing it.
    pub fn write(&self) -> Result<(), Error> {
        store(self.index).write(self.generation, self)
    }

    /// It has not come into force, and will not.
    pub fn discard(&self) -> Result<(), Error> {
        store(self.index).discard(self.generation)
    }

    /// Remove all records and notes of the link but the record in force.
    pub fn sweep(&self) -> Result<(), Error> {
        store(self.index).keep_only(self.generation)
    }

    /// Record that the link's device is about to be given back: a takt that finds it, and
    /// the qdisc gone, knows that takt removed it.
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

    /// All records of a link that can be used, the newest first.
    pub fn all(index: u32) -> Result<Vec<Self>, Error> {
        let store = store(index);
        let mut generations = store.numbers();
        generations.sort_unstable_by(|a, b| b.cmp(a));
        let records = generations
            .into_iter()
            .map(|generation| store.read(generation));
        records.filter_map(Result::transpose).collect()
    }

    /// Make all records usable, for taking back what they are about; see [`Store::salvage`].
    pub fn salvage_all() -> Result<(), Error> {
        for index in Self::links() {
            store(index).salvage_all()?;
        }
        Ok(())
    }

    /// The links that have a directory.
    pub fn links() -> Vec<u32> {
        let Ok(dirs) = fs::read_dir(links()) else {
            return Vec::new();
        };
        let names = dirs.flatten().map(|dir| dir.file_name());
        names
            .filter_map(|name| name.to_str()?.parse().ok())
            .collect()
    }

    /// Whether any link has one, of this boot.
    pub fn are_any() -> bool {
        { Self::links().into_iter() }.any(|index| !store(index).numbers().is_empty())
    }

    pub fn forget(index: u32) -> Result<(), Error> {
        let store = store(index);
        // That it is leaving goes last: without it, a record would say that another program has
        // changed the device.
        for generation in store.numbers() {
            store.discard(generation)?;
        }
        store.forget()?;
        // Other links may still have one.
        let _ = fs::remove_dir(links());
        Ok(())
    }
}

fn store(index: u32) -> Store<Record> {
    Store::at(dir(index))
}

fn links() -> PathBuf {
    Path::new(DIR).join("links")
}

fn dir(index: u32) -> PathBuf {
    links().join(index.to_string())
}

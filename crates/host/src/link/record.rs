//! What takt remembers of a link that it manages: the policy, the ids of classes, and the state
//! before takt.
//!
//! A record is a file named after the plan's generation and is written before
//! that plan takes effect. The plan in the kernel names the generation that is
//! in force, so record and plan change in the same instant, however takt ends.

use std::{fs, path::PathBuf};

use serde::{Deserialize, Serialize};
use takt_planner::ClassIds;

use crate::{
    error::Error,
    link::{buffer::QueueLimits, memory::Owner},
    os::{OsError, netlink::Qdisc},
    state::{
        StateError,
        runtime_dir::{self, DIR},
        source::Source,
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
        let path = path(index, generation);
        let Some(text) = runtime_dir::read(&path)? else {
            return Ok(None);
        };
        let record = serde_json::from_str(&text);
        record.map(Some).map_err(|reason| {
            let reason = reason.to_string();
            StateError::BadRecord { path, reason }.into()
        })
    }

    /// Write the record beside the one in force, without replacing it.
    pub fn write(&self) -> Result<(), Error> {
        runtime_dir::private_dirs(&dir(self.index))?;
        let path = path(self.index, self.generation);
        let text = serde_json::to_string_pretty(self).map_err(|reason| StateError::BadRecord {
            path: path.clone(),
            reason: reason.to_string(),
        })?;
        runtime_dir::replace(&path, &text)
    }

    /// It has not come into force, and will not.
    pub fn discard(&self) -> Result<(), Error> {
        runtime_dir::remove(&path(self.index, self.generation))
    }

    /// Remove all records and notes of the link but the record in force.
    pub fn sweep(&self) -> Result<(), Error> {
        let keep = path(self.index, self.generation);
        let dir = dir(self.index);
        for entry in fs::read_dir(&dir).map_err(OsError::file(&dir))? {
            let path = entry.map_err(OsError::file(&dir))?.path();
            if path != keep {
                fs::remove_file(&path).map_err(OsError::file(&path))?;
            }
        }
        Ok(())
    }

    /// Note that the link's device is about to be given back: a takt that finds the note, and
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

    pub fn forget(index: u32) -> Result<(), Error> {
        let dir = dir(index);
        runtime_dir::remove_all(&dir)?;
        // Other links may still have one.
        let _ = dir.parent().map(fs::remove_dir);
        Ok(())
    }
}

fn dir(index: u32) -> PathBuf {
    PathBuf::from(DIR).join("links").join(index.to_string())
}

fn path(index: u32, generation: u64) -> PathBuf {
    dir(index).join(format!("{generation}.json"))
}

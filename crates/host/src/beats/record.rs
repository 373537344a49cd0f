//! What takt remembers of the beats that it manages: a file named after the tables' generation,
//! written before they are in force.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use takt_planner::beats::Placement;

use super::{ids::TaskIds, roster::Roster};
use crate::{
    error::Error,
    os::OsError,
    state::{
        StateError,
        runtime_dir::{self, DIR},
    },
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BeatsRecord {
    pub generation: u32,
    pub roster: Roster,
    pub ids: TaskIds,
    /// By the tasks' names, in the policy's order.
    pub placements: Vec<(String, Placement)>,
}

impl BeatsRecord {
    /// A task's slots.
    pub fn placement(&self, task: &str) -> Option<&Placement> {
        let (_, placement) = self.placements.iter().find(|(name, _)| name == task)?;
        Some(placement)
    }

    /// What only root can change: the periods and slots of all tasks but users'.
    pub fn fixed(&self) -> Vec<(u64, &Placement)> {
        let tasks = self.roster.beats.tasks.iter();
        tasks
            .filter(|task| !self.roster.is_users(&task.name))
            .filter_map(|task| Some((task.period_ns, self.placement(&task.name)?)))
            .collect()
    }

    pub fn read(generation: u32) -> Result<Option<Self>, Error> {
        let path = path(generation);
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
        let path = path(self.generation);
        runtime_dir::private_dirs(&dir())?;
        let text = serde_json::to_string_pretty(self).map_err(|reason| StateError::BadRecord {
            path: path.clone(),
            reason: reason.to_string(),
        })?;
        runtime_dir::replace(&path, &text)
    }

    /// Remove all records but this one.
    pub fn sweep(&self) -> Result<(), Error> {
        let keep = path(self.generation);
        for entry in fs::read_dir(dir()).map_err(OsError::file(dir()))? {
            let path = entry.map_err(OsError::file(dir()))?.path();
            if path != keep {
                fs::remove_file(&path).map_err(OsError::file(&path))?;
            }
        }
        Ok(())
    }

    pub fn forget_all() -> Result<(), Error> {
        runtime_dir::remove_all(&dir())
    }
}

fn dir() -> PathBuf {
    Path::new(DIR).join("beats")
}

fn path(generation: u32) -> PathBuf {
    dir().join(format!("{generation}.json"))
}

//! What takt remembers of the beats that it manages: a file named after the tables' generation,
//! written before they are in force.

use std::path::Path;

use serde::{Deserialize, Serialize};
use takt_planner::beats::Placement;
use takt_policy::ExactTime;

use super::{ids::TaskIds, roster::Roster};
use crate::{
    error::Error,
    state::{runtime_dir::DIR, store::Store},
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
    pub fn fixed(&self) -> Vec<(ExactTime, &Placement)> {
        let tasks = self.roster.beats.tasks.iter();
        tasks
            .filter(|task| !self.roster.is_users(&task.name))
            .filter_map(|task| Some((task.period_ns, self.placement(&task.name)?)))
            .collect()
    }

    pub fn read(generation: u32) -> Result<Option<Self>, Error> {
        store().read(generation)
    }

    /// The last one that was written, for when the generation in force cannot be read.
    pub fn newest() -> Result<Option<Self>, Error> {
        match store().numbers().into_iter().max() {
            Some(generation) => store().read(generation),
            None => Ok(None),
        }
    }

    /// Write the record beside the one in force, without replacing it.
    pub fn write(&self) -> Result<(), Error> {
        store().write(self.generation, self)
    }

    /// Remove all records but this one.
    pub fn sweep(&self) -> Result<(), Error> {
        store().keep_only(self.generation)
    }

    /// Make all records usable, for taking back what they are about; see [`Store::salvage`].
    pub fn salvage_all() -> Result<(), Error> {
        store().salvage_all().map(drop)
    }

    pub fn forget_all() -> Result<(), Error> {
        store().forget()
    }
}

fn store() -> Store<BeatsRecord> {
    Store::at(Path::new(DIR).join("beats"))
}

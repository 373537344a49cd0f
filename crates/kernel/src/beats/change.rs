//! What applying a policy means for the beats, and doing it: prepared unseen, then
//! in force with one call, and taken back if the rest of the policy fails.

use std::fs;

use serde::Serialize;
use takt_planner::beats::{Host, demands, plan};
use takt_policy::Beats;

use super::{
    ids::TaskIds,
    image::Image,
    record::BeatsRecord,
    scheduler::{FIRST_GENERATION, Scheduler},
};
use crate::{decide::Undecided, error::Error, record::Source};

/// What was done to the beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BeatsAction {
    /// The scheduler was loaded, and every ordinary thread is its.
    Loaded,
    Updated,
    Unchanged,
    /// Every thread is the kernel's own scheduler's again.
    Unloaded,
}

/// A policy's part that is about threads, decided and not yet done.
pub(crate) struct Change {
    action: Option<BeatsAction>,
    scheduler: Option<Scheduler>,
    before: Option<BeatsRecord>,
    next: Option<(Box<Image>, BeatsRecord)>,
}

impl Change {
    pub fn decide(
        beats: Option<&Beats>,
        source: &Source,
        netns_cookie: u64,
    ) -> Result<Self, Undecided> {
        let scheduler = Scheduler::open()?;
        let before = match &scheduler {
            Some(scheduler) => BeatsRecord::read(scheduler.generation()?)?,
            None => None,
        };
        let Some(beats) = beats else {
            // Another namespace's policy is nothing to us.
            let ours = before.as_ref().is_none_or(|record| record.netns_cookie == netns_cookie);
            let action = (scheduler.is_some() && ours).then_some(BeatsAction::Unloaded);
            return Ok(Self {
                action,
                scheduler,
                before,
                next: None,
            });
        };
        if let Some(record) = before.as_ref().filter(|r| r.netns_cookie != netns_cookie) {
            return Err(Error::BeatsElsewhere {
                policy: record.source.name.clone(),
            }
            .into());
        }
        let host = Host {
            cpus: online_cpus()?
                .into_iter()
                .filter(|cpu| beats.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu)))
                .collect(),
            grid_ns: beats.grid_ns,
            free_ppm: beats.free_ppm,
        };
        let timetable = plan(&host, &demands(beats)).map_err(Undecided::NoTime)?;
        let ids = before.as_ref().map(|record| record.ids.clone()).unwrap_or_default();
        let ids = ids
            .assign(&beats.tasks)
            .or_else(|| TaskIds::default().assign(&beats.tasks))
            .unwrap_or_default();
        let generation = match &scheduler {
            Some(scheduler) => scheduler.generation()? + 1,
            None => FIRST_GENERATION,
        };
        let record = BeatsRecord {
            generation,
            netns_cookie,
            source: source.clone(),
            ids,
            placements: beats
                .tasks
                .iter()
                .map(|task| task.name.clone())
                .zip(timetable.placements.iter().cloned())
                .collect(),
        };
        let same = before.as_ref().is_some_and(|before| {
            let generation = before.generation;
            *before == BeatsRecord { generation, ..record.clone() }
        });
        let action = match (&scheduler, same) {
            (Some(_), true) => BeatsAction::Unchanged,
            (Some(_), false) => BeatsAction::Updated,
            (None, _) => BeatsAction::Loaded,
        };
        let image = Box::new(Image::new(beats, &timetable, &record.ids));
        Ok(Self {
            action: Some(action),
            scheduler,
            before,
            next: Some((image, record)),
        })
    }

    pub fn action(&self) -> Option<BeatsAction> {
        self.action
    }

    /// Nothing is changed, but what would have to be loaded must load.
    pub fn verify(&self) -> Result<(), Error> {
        match self.action {
            Some(BeatsAction::Loaded) => Scheduler::verify(),
            _ => Ok(()),
        }
    }

    /// All that nobody sees.
    pub fn prepare(&self) -> Result<(), Error> {
        let Some((image, record)) = &self.next else {
            return Ok(());
        };
        match (self.action, &self.scheduler) {
            (Some(BeatsAction::Loaded), _) => {
                nobody_elses()?;
                record.write()
            }
            (Some(BeatsAction::Updated), Some(scheduler)) => {
                scheduler.stage(image, record.generation)?;
                record.write()
            }
            _ => Ok(()),
        }
    }

    /// All that every thread sees.
    pub fn commit(&self) -> Result<(), Error> {
        match (self.action, &self.scheduler, &self.next) {
            (Some(BeatsAction::Loaded), _, Some((image, _))) => Scheduler::load(image).map(drop),
            (Some(BeatsAction::Updated), Some(scheduler), Some((_, record))) => {
                scheduler.commit(record.generation)
            }
            _ => Ok(()),
        }
    }

    /// The rest of the policy failed: as it was before [`Self::commit`].
    pub fn undo(&self) -> Result<(), Error> {
        match (self.action, &self.scheduler) {
            (Some(BeatsAction::Loaded), _) => unload(),
            (Some(BeatsAction::Updated), Some(scheduler)) => {
                let Some(before) = &self.before else {
                    return Ok(());
                };
                // The tables before lie in the other half still.
                let generation = scheduler.generation()? + 1;
                let record = BeatsRecord {
                    generation,
                    ..before.clone()
                };
                record.write()?;
                scheduler.commit(generation)?;
                record.sweep()
            }
            _ => Ok(()),
        }
    }

    /// Remove what the new state no longer needs.
    pub fn tidy(&self) -> Result<(), Error> {
        match (self.action, &self.scheduler, &self.next) {
            (Some(BeatsAction::Unloaded), ..) => unload(),
            (Some(BeatsAction::Updated), Some(scheduler), Some((_, record))) => {
                if let Some(before) = &self.before {
                    let gone = record.ids.gone(&before.ids);
                    scheduler.vacate(gone.flat_map(|numbers| {
                        numbers.first_member..numbers.first_member + numbers.members.len() as u32
                    }))?;
                }
                record.sweep()
            }
            _ => Ok(()),
        }
    }
}

/// End the beats of a namespace's policy.
pub(crate) fn revert(netns_cookie: u64) -> Result<bool, Error> {
    let Some(scheduler) = Scheduler::open()? else {
        return Ok(false);
    };
    let record = BeatsRecord::read(scheduler.generation()?)?;
    if record.is_some_and(|record| record.netns_cookie != netns_cookie) {
        return Ok(false);
    }
    unload()?;
    Ok(true)
}

fn unload() -> Result<(), Error> {
    if let Some(scheduler) = Scheduler::open()? {
        scheduler.unload()?;
    }
    BeatsRecord::forget_all()
}

/// The kernel runs one such scheduler at a time.
fn nobody_elses() -> Result<(), Error> {
    let name = fs::read_to_string("/sys/kernel/sched_ext/root/ops").unwrap_or_default();
    match name.trim() {
        "" => Ok(()),
        name => Err(Error::OtherScheduler {
            name: name.to_owned(),
        }),
    }
}

fn online_cpus() -> Result<Vec<u32>, Error> {
    let path = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse()) {
            cpus.extend(first..=last);
        }
    }
    Ok(cpus)
}

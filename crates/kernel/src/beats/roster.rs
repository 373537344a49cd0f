//! Which tasks there are to be: the policy's, and those that joined at run time on
//! terms of their own.

use std::{collections::BTreeMap, fs};

use serde::{Deserialize, Serialize};
use takt_planner::beats::{Host, Placement, Refusal, Timetable, demands, plan};
use takt_policy::Beats;

use super::{ids::TaskIds, image::Image, record::BeatsRecord};
use crate::{decide::Undecided, error::Error, namespace, record::Source};

/// All tasks that a scheduler is to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Roster {
    /// Of the policy that declares tasks, if one does.
    pub source: Option<Source>,
    /// Whose network namespace it was applied in.
    pub netns_cookie: u64,
    /// That namespace's number, which says whether it lives.
    pub netns_inode: u64,
    /// The policy's tasks, and behind them those that joined.
    pub beats: Beats,
    /// Whom tasks that joined are counted for, by their names.
    pub ad_hoc: BTreeMap<String, u32>,
}

impl Roster {
    /// The tasks of this policy, beside those that joined `before`.
    pub fn of_policy(
        policy: Option<(&Beats, &Source)>,
        netns_cookie: u64,
        before: Option<&Roster>,
    ) -> Self {
        let mut next = Self {
            source: policy.map(|(_, source)| source.clone()),
            netns_cookie: policy.map_or(0, |_| netns_cookie),
            netns_inode: policy.map_or(0, |_| namespace::own().unwrap_or_default()),
            beats: policy.map(|(beats, _)| beats.clone()).unwrap_or_default(),
            ad_hoc: before
                .map(|roster| roster.ad_hoc.clone())
                .unwrap_or_default(),
        };
        let joined = before.into_iter().flat_map(|roster| &roster.beats.tasks);
        let joined = joined.filter(|task| next.ad_hoc.contains_key(&task.name));
        next.beats.tasks.extend(joined.cloned());
        next
    }

    pub fn is_empty(&self) -> bool {
        self.beats.tasks.is_empty()
    }

    /// Find slots. What stands, and is to be as it was, stays where it is if that is
    /// possible; what joined at run time in any case.
    pub fn plan(&self, before: Option<&BeatsRecord>) -> Result<Timetable, Undecided> {
        let host = self.host()?;
        let planned = match self.plan_around(&host, before, true) {
            // Whoever is new is to blame, unless all can be had in another order.
            Err(first @ Refusal::NoRoom { .. }) => {
                self.plan_around(&host, before, false).map_err(|_| first)
            }
            Err(_) => self.plan_around(&host, before, false),
            Ok(timetable) => Ok(timetable),
        };
        planned.map_err(Undecided::NoTime)
    }

    fn plan_around(
        &self,
        host: &Host,
        before: Option<&BeatsRecord>,
        all_stay: bool,
    ) -> Result<Timetable, Refusal> {
        let mut demands = demands(&self.beats);
        for (demand, task) in demands.iter_mut().zip(&self.beats.tasks) {
            let Some(before) = before else {
                continue;
            };
            let same_grid = before.roster.beats.grid_ns == self.beats.grid_ns;
            let is_same = |old: &takt_policy::Task| {
                takt_policy::Task {
                    line: task.line,
                    ..old.clone()
                } == *task
            };
            let stays = before.roster.beats.tasks.iter().any(is_same) && same_grid;
            if (all_stay && stays) || self.ad_hoc.contains_key(&task.name) {
                demand.standing = before.placement(&task.name).cloned();
            }
        }
        plan(host, &demands)
    }

    fn host(&self) -> Result<Host, Error> {
        let wanted = self.beats.cpus.as_ref();
        Ok(Host {
            cpus: online_cpus()?
                .into_iter()
                .filter(|cpu| wanted.is_none_or(|cpus| cpus.contains(cpu)))
                .collect(),
            grid_ns: self.beats.grid_ns,
            free_ppm: self.beats.free_ppm,
        })
    }

    /// How many CPUs may carry beats.
    pub fn cpu_count(&self) -> Result<u32, Error> {
        Ok(self.host()?.cpus.len() as u32)
    }

    /// What the kernel reads of it, and what takt remembers.
    pub fn lay_out(
        &self,
        timetable: &Timetable,
        before: Option<&BeatsRecord>,
        generation: u32,
    ) -> (Image, BeatsRecord) {
        let tasks = &self.beats.tasks;
        let ids = before.map(|record| record.ids.clone()).unwrap_or_default();
        // What has left keeps its numbers once more, unless they are needed.
        let ids = ids
            .assign(tasks)
            .or_else(|| TaskIds::default().assign(tasks))
            .unwrap_or_default();
        let placements: Vec<(String, Placement)> = tasks
            .iter()
            .map(|task| task.name.clone())
            .zip(timetable.placements.iter().cloned())
            .collect();
        let image = Image::new(&self.beats, timetable, &ids);
        let record = BeatsRecord {
            generation,
            roster: self.clone(),
            ids,
            placements,
        };
        (image, record)
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

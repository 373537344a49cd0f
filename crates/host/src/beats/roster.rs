//! The tasks that there are to be: the policy's, and the ad hoc tasks.

use std::{collections::BTreeMap, fs};

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_MEMBERS, TAKT_TASKS};
use takt_planner::beats::{Host, Placement, Timetable};
use takt_policy::{Beats, ExactTime};

use super::{
    displaced::SentAway, ids::TaskIds, image::Image, phase, record::BeatsRecord,
    standing::common_frames,
};
use crate::{
    error::Error,
    os::{OsError, namespace},
    state::source::Source,
};

/// The name of an ad hoc task, which no policy and no other user can give.
pub(crate) fn ad_hoc_key(uid: u32, name: &str) -> String {
    format!("u{uid}/{name}")
}

/// Its user's name of it.
pub(crate) fn shown_name(task: &str) -> &str {
    task.rsplit_once('/').map_or(task, |(_, name)| name)
}

/// All tasks that a scheduler is to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Roster {
    /// Of the policy that declares tasks, if one does.
    pub source: Option<Source>,
    /// The network namespace that it was applied in.
    pub netns_cookie: u64,
    /// The namespace's number, to find out whether it still exists.
    pub netns_inode: u64,
    /// The policy's tasks, followed by the ad hoc tasks.
    pub beats: Beats,
    /// How far the clock of `beats` is ahead of CLOCK_MONOTONIC.
    #[serde(default)]
    pub clock_ahead_ns: u64,
    /// Ad hoc tasks by name, and the user that each counts against.
    pub ad_hoc: BTreeMap<String, u32>,
    /// Threads that lost their reservations, the latest last.
    #[serde(default)]
    pub sent_away: Vec<SentAway>,
}

impl Roster {
    /// The tasks of this policy, with the ad hoc tasks of `before`.
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
            clock_ahead_ns: before.map_or(0, |roster| roster.clock_ahead_ns),
            ad_hoc: before
                .map(|roster| roster.ad_hoc.clone())
                .unwrap_or_default(),
            sent_away: before
                .map(|roster| roster.sent_away.clone())
                .unwrap_or_default(),
        };
        let joined = before.into_iter().flat_map(|roster| &roster.beats.tasks);
        let joined = joined.filter(|task| next.ad_hoc.contains_key(&task.name));
        next.beats.tasks.extend(joined.cloned());
        next.in_phase()
    }

    /// The same, in the present phase of their clock.
    pub fn in_phase(self) -> Self {
        let clock_ahead_ns = phase::ahead_ns(self.beats.clock, Some(self.clock_ahead_ns));
        Self {
            clock_ahead_ns,
            ..self
        }
    }

    /// Whether its tasks are those of the policy of another network namespace that still exists.
    pub fn is_elsewhere(&self, netns_cookie: u64) -> bool {
        self.source.is_some()
            && self.netns_cookie != netns_cookie
            && !namespace::is_gone(self.netns_inode, self.netns_cookie)
    }

    pub fn is_empty(&self) -> bool {
        self.beats.tasks.is_empty()
    }

    /// Whether it is an ad hoc task of a user who is not root.
    pub fn is_users(&self, task: &str) -> bool {
        self.ad_hoc.get(task).is_some_and(|uid| *uid != 0)
    }

    /// The ad hoc tasks, by their indices among the tasks: root's before users', and older ones
    /// before younger.
    pub fn joined_in_precedence(&self) -> Vec<usize> {
        let joined = |of_users: bool| {
            let tasks = self.beats.tasks.iter().enumerate();
            tasks.filter_map(move |(at, task)| {
                let is_joined = self.ad_hoc.contains_key(&task.name);
                (is_joined && self.is_users(&task.name) == of_users).then_some(at)
            })
        };
        joined(false).chain(joined(true)).collect()
    }

    /// What users' periods have to divide, for each CPU that carries beats.
    pub fn common_frames(&self, before: Option<&BeatsRecord>) -> Result<Vec<ExactTime>, Error> {
        let fixed = before.map(BeatsRecord::fixed).unwrap_or_default();
        let frames = common_frames(&self.host()?, &fixed);
        Ok(frames.into_iter().map(|(_, frame)| frame).collect())
    }

    /// Whether the scheduler has room for all members, those that stay at their indices.
    pub fn has_numbers(&self, before: Option<&BeatsRecord>) -> bool {
        let ids = before.map(|record| &record.ids);
        let none = TaskIds::default();
        ids.unwrap_or(&none).assign(&self.beats.tasks).is_some()
    }

    /// Drop the ad hoc tasks that the scheduler has no room for beside the policy's members, of
    /// least precedence first. Returns their names and the reasons.
    pub fn let_go_without_numbers(
        &mut self,
        before: Option<&BeatsRecord>,
    ) -> Vec<(String, String)> {
        let mut gone = Vec::new();
        while !self.has_numbers(before) {
            let Some(last) = self.joined_in_precedence().pop() else {
                break;
            };
            let task = self.beats.tasks.remove(last);
            self.ad_hoc.remove(&task.name);
            gone.push((
                task.name,
                format!(
                    "the scheduler has {TAKT_MEMBERS} members in {TAKT_TASKS} tasks, and the \
                     policy's come first"
                ),
            ));
        }
        gone
    }

    /// Without these tasks.
    pub fn without(&self, gone: impl Fn(&str) -> bool) -> Self {
        let mut left = self.clone();
        left.beats.tasks.retain(|task| !gone(&task.name));
        left.ad_hoc.retain(|name, _| !gone(name));
        left
    }

    /// The tasks without ad hoc tasks.
    pub fn without_joined(&self) -> Self {
        self.without(|task| self.ad_hoc.contains_key(task))
    }

    pub fn host(&self) -> Result<Host, Error> {
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

    /// What the kernel reads of it, and what takt remembers.
    pub fn lay_out(
        &self,
        timetable: &Timetable,
        before: Option<&BeatsRecord>,
        generation: u32,
    ) -> (Image, BeatsRecord) {
        let tasks = &self.beats.tasks;
        let ids = before.map(|record| record.ids.clone()).unwrap_or_default();
        // Renumber all others only if no ad hoc task loses its reservations by that.
        let ids = ids
            .assign(tasks)
            .or_else(|| TaskIds::default().assign(tasks))
            .unwrap_or_default();
        let placements: Vec<(String, Placement)> = tasks
            .iter()
            .map(|task| task.name.clone())
            .zip(timetable.placements.iter().cloned())
            .collect();
        let image = Image::new(&self.beats, self.clock_ahead_ns, timetable, &ids);
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
    let text = fs::read_to_string(path).map_err(OsError::file(path))?;
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse()) {
            cpus.extend(first..=last);
        }
    }
    Ok(cpus)
}

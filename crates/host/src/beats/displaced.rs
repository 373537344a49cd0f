//! Ad hoc tasks that have to make room for a policy's tasks: what happens to them, and how
//! their threads learn of it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::os::clock::monotonic_ns;

/// As many as there are reservations, so that each thread may ask once.
const REMEMBERED_MAX: usize = 256;

/// What happened to an ad hoc task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Displacement {
    /// It has other slots.
    Moved,
    /// It has no slots any more, and its threads are ordinary ones.
    SentAway,
}

/// An ad hoc task that made room for the policy's tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Displaced {
    /// Its unique name.
    #[serde(skip)]
    pub(super) key: String,
    /// Its group's name, or `tid-` and the thread's number.
    pub task: String,
    /// Its user.
    pub user: u32,
    /// The threads that held its reservations.
    pub threads: Vec<u32>,
    /// What happened to it.
    pub outcome: Displacement,
    /// Why.
    pub reason: String,
}

/// A thread that lost its reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentAway {
    /// The host's number of the thread.
    pub tid: u32,
    /// The task that it had a reservation in.
    pub task: String,
    /// The user of the task.
    pub user: u32,
    /// When, on CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The policy that was applied; `None`: none that has tasks.
    pub policy: Option<String>,
    /// Why it could not stay.
    pub reason: String,
}

impl SentAway {
    /// How long ago that was.
    pub fn ago_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.at_ns)
    }
}

/// Remember the threads that lose their reservations now, and the latest of the earlier ones
/// that still exist.
pub(super) fn remember(known: &mut Vec<SentAway>, displaced: &[Displaced], policy: Option<&str>) {
    let gone = displaced
        .iter()
        .filter(|task| task.outcome == Displacement::SentAway);
    let threads = gone.flat_map(|task| {
        task.threads.iter().map(|tid| SentAway {
            tid: *tid,
            task: task.task.clone(),
            user: task.user,
            at_ns: monotonic_ns(),
            policy: policy.map(str::to_owned),
            reason: task.reason.clone(),
        })
    });
    let threads: Vec<SentAway> = threads.collect();
    if threads.is_empty() {
        return;
    }
    known.retain(|one| is_there(one.tid) && threads.iter().all(|new| new.tid != one.tid));
    known.extend(threads);
    let surplus = known.len().saturating_sub(REMEMBERED_MAX);
    known.drain(..surplus);
}

fn is_there(tid: u32) -> bool {
    Path::new("/proc").join(tid.to_string()).exists()
}

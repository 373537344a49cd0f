//! Threads that joined at run time and are in the way of a policy's tasks: what becomes of them,
//! and how they learn of it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::os::clock::monotonic_ns;

/// As many as there are places, so that each may ask once.
const REMEMBERED_MAX: usize = 256;

/// What became of a task that had joined at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Displacement {
    /// It has other slots.
    Moved,
    /// It has none any more, and its threads are ordinary ones.
    SentAway,
}

/// A task that had joined at run time and made room for the policy's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Displaced {
    /// By which it is told from all others.
    #[serde(skip)]
    pub(super) key: String,
    /// Its group's name, or `tid-` and the thread's number.
    pub task: String,
    /// Whose it is.
    pub user: u32,
    /// Those that have its places.
    pub threads: Vec<u32>,
    /// What became of it.
    pub outcome: Displacement,
    /// Why.
    pub reason: String,
}

/// A thread that has lost its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentAway {
    /// As the host numbers it.
    pub tid: u32,
    /// What it had a place in.
    pub task: String,
    /// Whose it was.
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

/// Remember those that go now, and of those before them the last that are there still.
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

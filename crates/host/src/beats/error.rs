//! Why the scheduler of beats could not be loaded or changed.

use std::io;

use thiserror::Error;

use super::{CgroupLimit, Ended};
use crate::{error::Error, os::OsError};

/// The scheduler of beats, and what runs before and after it.
#[derive(Debug, Error)]
pub enum BeatsError {
    /// Beats cannot be loaded over another program's sched_ext scheduler.
    #[error(
        "the scheduler {name} is loaded, and the kernel runs one such scheduler at a time; stop it \
         first"
    )]
    OtherScheduler {
        /// Its name in the kernel.
        name: String,
    },
    /// A policy declares tasks, but another network namespace's policy has them already: there
    /// is one scheduler.
    #[error(
        "threads are on the beat of {policy}, which was applied in another network namespace; \
         `takt revert` there ends it"
    )]
    BeatsElsewhere {
        /// The name of that policy's file.
        policy: String,
    },
    /// Control groups have limits or weights of processor time that do not hold beside beats.
    #[error(
        "{first}, which does not hold while beats are loaded{}; set it to {}, or say \
         ignore_cgroup_limits = true in [beats]",
        and_more(*others),
        first.unlimited
    )]
    CgroupLimits {
        /// The one that is named.
        first: CgroupLimit,
        /// How many there are besides.
        others: usize,
    },
    /// A thread cannot join: the scheduler has ended.
    #[error(
        "{} ended the scheduler of beats: {ended}; `takt apply` loads it anew, `takt revert` takes \
         away what is left of it",
        ended.by()
    )]
    BeatsEnded {
        /// Why.
        ended: Ended,
    },
    /// The kernel took the scheduler and ended it at once.
    #[error("the kernel does not start the scheduler of beats: {ended}")]
    NotStarted {
        /// Why.
        ended: Ended,
    },
    /// Only tasks were to be removed, and the planner refused the rest.
    #[error("the time slots that remain cannot be planned: {reason}")]
    NoPlan {
        /// The planner's refusal.
        reason: String,
    },
    /// Threaded packet processing or small batches could not be set or restored.
    #[error("setting {knob} while there are beats, or putting it back: {source}")]
    SoftirqTiers {
        /// Its file, in /sys or /proc/sys.
        knob: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl BeatsError {
    pub(crate) fn softirq_tiers(knob: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let knob = knob.into();
        |source| {
            let short = OsError::too_many_files(&knob, &source);
            short.unwrap_or_else(|| Self::SoftirqTiers { knob, source }.into())
        }
    }
}

/// Of settings that are not named.
fn and_more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (nor does another)".to_owned(),
        others => format!(" (nor do {others} others)"),
    }
}

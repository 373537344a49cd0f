//! Why a thread gets no place.

use thiserror::Error;

use crate::error::Error;

/// Why a thread got no place. Nothing was changed.
#[derive(Debug, Error)]
pub enum JoinError {
    /// No policy with tasks is in force, or its scheduler is not loaded any more.
    #[error("there are no beats on this host; `takt apply` a policy with [[task]] first")]
    NotLoaded,
    /// A place was asked for that no policy declares.
    #[error("the policy in force has no task `{task}`; it has {known}")]
    NoTask {
        /// As it was asked for.
        task: String,
        /// All tasks there are, with commas between them.
        known: String,
    },
    /// The task is there, and this member of it is not.
    #[error("task `{task}` has no member `{member}`; it has {known}")]
    NoMember {
        /// As it was asked for.
        task: String,
        /// Likewise.
        member: String,
        /// All members of the task, with commas between them.
        known: String,
    },
    /// Which of several members the thread is was not said.
    #[error("task `{task}` is a group; name one of its members: {known}")]
    Group {
        /// As it was asked for.
        task: String,
        /// All members of the task, with commas between them.
        known: String,
    },
    /// Another thread has it.
    #[error("thread {tid} has the place `{member}` of task `{task}`; it goes when that ends")]
    Taken {
        /// Whose member it is.
        task: String,
        /// The place that was asked for.
        member: String,
        /// The thread that has it.
        tid: u32,
    },
    /// A thread has one place at a time.
    #[error("thread {tid} has a place already, in task `{task}`; it must leave that first")]
    Joined {
        /// The thread that asked.
        tid: u32,
        /// Where it has its place.
        task: String,
    },
    /// No such task can be.
    #[error("{0}")]
    Invalid(String),
    /// The policy in force lets others take places, or none but root.
    #[error("{0}")]
    MayNotJoin(String),
    /// Users have a share of the beat, and this would be more.
    #[error("{0}")]
    TooMany(String),
    /// The planner's refusal.
    #[error("{0}")]
    NoRoom(String),
    /// The host is in the way, or failed.
    #[error(transparent)]
    Host(#[from] Error),
}

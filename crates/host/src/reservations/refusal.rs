//! Why a thread gets no reservation.

use thiserror::Error;

use crate::error::Error;

/// Why a thread got no reservation. Nothing was changed.
#[derive(Debug, Error)]
pub enum JoinError {
    /// No policy with tasks is in force, or its scheduler is not loaded any more.
    #[error("no policy with a [[task]] is in force; apply one first with `takt apply`")]
    NotLoaded,
    /// No policy declares the requested task.
    #[error("the policy in force has no task `{task}`; it has {known}")]
    NoTask {
        /// The requested name.
        task: String,
        /// All tasks that exist, separated by commas.
        known: String,
    },
    /// The task exists, but has no such member.
    #[error("task `{task}` has no member `{member}`; it has {known}")]
    NoMember {
        /// The requested task.
        task: String,
        /// The requested member.
        member: String,
        /// All members of the task, separated by commas.
        known: String,
    },
    /// The task has several members, and the request names none.
    #[error("task `{task}` is a group; name one of its members: {known}")]
    Group {
        /// The requested task.
        task: String,
        /// All members of the task, separated by commas.
        known: String,
    },
    /// Another thread has the reservation.
    #[error(
        "thread {tid} holds member `{member}` of task `{task}`; it is free when that thread ends"
    )]
    Taken {
        /// The task.
        task: String,
        /// The requested member.
        member: String,
        /// The thread that has it.
        tid: u32,
    },
    /// A thread has one reservation at a time.
    #[error("thread {tid} has a reservation already, in task `{task}`; it must leave that first")]
    Joined {
        /// The thread that asked.
        tid: u32,
        /// The task and member that it has.
        task: String,
    },
    /// No such task is possible.
    #[error("{0}")]
    Invalid(String),
    /// The policy in force lets only others take reservations, or only root.
    #[error("{0}")]
    MayNotJoin(String),
    /// Users' share of the beat is limited, and this would exceed it.
    #[error("{0}")]
    TooMany(String),
    /// The planner's refusal.
    #[error("{0}")]
    NoRoom(String),
    /// The host is in the way, or failed.
    #[error(transparent)]
    Host(#[from] Error),
}

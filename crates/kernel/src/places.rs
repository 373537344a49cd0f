//! Places on the beat that threads take at run time, beside those that the policy's rules
//! find.

use std::os::fd::OwnedFd;

use takt_policy::Overrun;
use thiserror::Error;

use crate::error::Error;

/// What a thread wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A place that the policy declares.
    Declared {
        task: String,
        /// Of a group; a task that is none has one place.
        member: Option<String>,
    },
    /// A place that nobody has declared.
    AdHoc(Terms),
}

/// An ad hoc task. The first member of a group to come says what it is; later ones must say
/// the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// `None`: a thread on its own.
    pub group: Option<String>,
    /// From 0, in the order of hand-off.
    pub member: u32,
    /// 1 without a group.
    pub member_count: u32,
    pub period_ns: u64,
    /// Of all members together.
    pub budget_ns: u64,
    /// `None`: where it fits.
    pub offset_ns: Option<u64>,
    pub lead_ns: u64,
    pub overrun: Overrun,
}

/// A thread and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As the host numbers threads.
    pub tid: u32,
    /// Which of the job pages is its own.
    pub page: u32,
    pub task: String,
    pub member: String,
    /// `None`: the policy declares it.
    pub ad_hoc: Option<AdHoc>,
}

/// Whose an ad hoc task is, and how much of a CPU it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdHoc {
    pub uid: u32,
    pub period_ns: u64,
    pub budget_ns: u64,
}

/// What there is to share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// That may carry beats.
    pub cpu_count: u32,
    /// Of each, that may be assigned, in millionths.
    pub assigned_ppm: u32,
}

/// Why a thread got no place. Nothing was changed.
#[derive(Debug, Error)]
pub enum JoinError {
    #[error("there are no beats on this host; `takt apply` a policy with [[task]] first")]
    NotLoaded,
    #[error("the policy in force has no task `{task}`; it has {known}")]
    NoTask { task: String, known: String },
    #[error("task `{task}` has no member `{member}`; it has {known}")]
    NoMember {
        task: String,
        member: String,
        known: String,
    },
    #[error("task `{task}` is a group; name one of its members: {known}")]
    Group { task: String, known: String },
    #[error("thread {tid} has the place `{member}` of task `{task}`; it goes when that ends")]
    Taken {
        task: String,
        member: String,
        tid: u32,
    },
    #[error("thread {tid} has a place already, in task `{task}`; it must leave that first")]
    Joined { tid: u32, task: String },
    /// No such task can be.
    #[error("{0}")]
    Invalid(String),
    /// The planner's refusal.
    #[error("{0}")]
    NoRoom(String),
    #[error(transparent)]
    Host(#[from] Error),
}

/// Give a thread a place; `uid` is who an ad hoc task is counted for.
pub fn join(_tid: u32, _uid: u32, _wish: &Wish) -> Result<Place, JoinError> {
    Err(JoinError::NotLoaded)
}

/// Whether the thread had a place. The slots of an ad hoc task are free again when its
/// last member has left.
pub fn leave(_tid: u32) -> Result<bool, Error> {
    Ok(false)
}

/// Every thread that has a place.
pub fn list() -> Result<Vec<Place>, Error> {
    Ok(Vec::new())
}

/// Free what threads that are no more had on their own terms.
pub fn sweep() -> Result<(), Error> {
    Ok(())
}

/// `None` without beats.
pub fn capacity() -> Result<Option<Capacity>, Error> {
    Ok(None)
}

/// The map of job pages, to be read alone; `None` without beats.
pub fn job_pages() -> Result<Option<OwnedFd>, Error> {
    Ok(None)
}

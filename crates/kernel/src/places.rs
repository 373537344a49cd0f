//! Places on the beat that threads take at run time, beside those that the policy's rules
//! find.

use std::os::fd::OwnedFd;

use takt_policy::{BUDGET_MIN_NS, Overrun, PERIOD_MAX_NS, PERIOD_MIN_NS};
use thiserror::Error;

use crate::error::Error;

/// Of one task: TAKT_MEMBERS_MAX in algo/turns.h.
const MEMBERS_MAX: u32 = 16;

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

impl Terms {
    /// That such a task can be at all, whatever else there is. The error names the fix.
    pub fn check(&self) -> Result<(), JoinError> {
        let shown = takt_policy::format_duration;
        let invalid = |message: String| Err(JoinError::Invalid(message));
        if !(PERIOD_MIN_NS..=PERIOD_MAX_NS).contains(&self.period_ns) {
            return invalid(format!(
                "a period of {} is out of range; it goes from {} to {}",
                shown(self.period_ns),
                shown(PERIOD_MIN_NS),
                shown(PERIOD_MAX_NS)
            ));
        }
        if self.budget_ns < BUDGET_MIN_NS {
            return invalid(format!(
                "a budget of {} is too small; the smallest is {}",
                shown(self.budget_ns),
                shown(BUDGET_MIN_NS)
            ));
        }
        // One at a time, for their sum may be beyond all numbers.
        let room_ns = self.period_ns.checked_sub(self.budget_ns);
        if room_ns.is_none_or(|room_ns| self.lead_ns > room_ns) {
            return invalid(format!(
                "a budget of {} and a lead of {} do not fit into a period of {}",
                shown(self.budget_ns),
                shown(self.lead_ns),
                shown(self.period_ns)
            ));
        }
        if self
            .offset_ns
            .is_some_and(|offset_ns| offset_ns >= self.period_ns)
        {
            return invalid(format!(
                "an offset of {} is not within a period of {}",
                shown(self.offset_ns.unwrap_or_default()),
                shown(self.period_ns)
            ));
        }
        if !(1..=MEMBERS_MAX).contains(&self.member_count) {
            return invalid(format!(
                "a group has 1 to {MEMBERS_MAX} members, not {}",
                self.member_count
            ));
        }
        if self.member >= self.member_count {
            return invalid(format!(
                "a group of {} has no member {}",
                self.member_count,
                u64::from(self.member) + 1
            ));
        }
        if self.group.is_none() && self.member_count > 1 {
            return invalid("several members need a group with a name".to_owned());
        }
        Ok(())
    }
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
pub fn join(_tid: u32, _uid: u32, wish: &Wish) -> Result<Place, JoinError> {
    if let Wish::AdHoc(terms) = wish {
        terms.check()?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn terms() -> Terms {
        Terms {
            group: None,
            member: 0,
            member_count: 1,
            period_ns: 40 * MS,
            budget_ns: 8 * MS,
            offset_ns: None,
            lead_ns: 0,
            overrun: Overrun::Demote,
        }
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut Terms), says: &str) {
        let mut terms = terms();
        change(&mut terms);
        let error = terms.check().expect_err("nonsense").to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn what_can_be_is_let_through() {
        terms().check().expect("plain terms");
        let edge = Terms {
            group: Some("av".to_owned()),
            member: 2,
            member_count: 3,
            budget_ns: 39 * MS,
            lead_ns: MS,
            offset_ns: Some(39 * MS),
            ..terms()
        };
        edge.check().expect("terms that just fit");
    }

    #[test]
    fn nonsense_is_refused_with_its_reason() {
        refused(
            |t| t.period_ns = 1_000_000_000 * 1_000_000_000,
            "from 100us to 4s",
        );
        refused(|t| t.period_ns = 0, "out of range");
        refused(|t| t.budget_ns = 41 * MS, "a budget of 41ms");
        refused(|t| t.budget_ns = u64::MAX, "do not fit");
        refused(|t| t.budget_ns = 0, "too small");
        refused(|t| t.lead_ns = u64::MAX, "do not fit");
        refused(|t| t.offset_ns = Some(40 * MS), "an offset of 40ms");
        refused(|t| t.member_count = 0, "1 to 16");
        refused(|t| t.member_count = 17, "1 to 16");
        refused(|t| t.member = u32::MAX, "no member 4294967296");
        refused(|t| t.member_count = 2, "need a group");
    }
}

//! Places on the beat that threads take at run time, beside those that the policy's rules
//! find.

use std::{os::fd::OwnedFd, time::Duration};

use takt_policy::{
    BUDGET_MIN_NS, Member, Overrun, PERIOD_MAX_NS, PERIOD_MIN_NS, Task, ThreadMatch,
};
use thiserror::Error;

use crate::{
    beats::{self, BeatsRecord, Change, Found, Roster, Scheduler},
    decide::Undecided,
    error::Error,
    record::Lock,
};

/// Of one task.
const MEMBERS_MAX: u32 = takt_policy::MEMBERS_MAX as u32;

/// For another takt, which may wait for a frame's end, while taktd serves no others.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a thread wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A place that the policy declares.
    Declared {
        /// Its name in the policy.
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
    /// Within [`PERIOD_MIN_NS`] and [`PERIOD_MAX_NS`].
    pub period_ns: u64,
    /// Of all members together.
    pub budget_ns: u64,
    /// `None`: where it fits.
    pub offset_ns: Option<u64>,
    /// How long before its beat a member is released, to wait out the rest on its CPU.
    pub lead_ns: u64,
    /// What becomes of a member that uses more than the budget.
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
        match &self.group {
            None if self.member_count > 1 => {
                invalid("several members need a group with a name".to_owned())
            }
            None => Ok(()),
            Some(name) => takt_policy::check_name("group", name).map_err(JoinError::Invalid),
        }
    }

    /// Its members are numbered from 1, and no rule finds them.
    fn task(&self, name: &str) -> Task {
        let member = |number: u32| Member {
            name: number.to_string(),
            matches: ThreadMatch::default(),
        };
        Task {
            name: name.to_owned(),
            period_ns: self.period_ns,
            budget_ns: self.budget_ns,
            offset_ns: self.offset_ns,
            lead_ns: self.lead_ns,
            cpus: None,
            overrun: self.overrun,
            members: (1..=self.member_count).map(member).collect(),
            line: 0,
        }
    }
}

/// A thread and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As the host numbers threads.
    pub tid: u32,
    /// Which of the job pages is its own.
    pub page: u32,
    /// The policy's name for it; of an ad hoc task, the group's, or `tid-` and the thread's number.
    pub task: String,
    /// The policy's name for it; of an ad hoc task, its number, from 1.
    pub member: String,
    /// `None`: the policy declares it.
    pub ad_hoc: Option<AdHoc>,
}

/// Whose an ad hoc task is, and how much of a CPU it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdHoc {
    /// The user whose it is.
    pub uid: u32,
    /// The task's.
    pub period_ns: u64,
    /// The task's: of all members together, in each period.
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
    /// The planner's refusal.
    #[error("{0}")]
    NoRoom(String),
    /// The host is in the way, or failed.
    #[error(transparent)]
    Host(#[from] Error),
}

/// Give a thread a place; `uid` is who an ad hoc task is counted for.
pub fn join(tid: u32, uid: u32, wish: &Wish) -> Result<Place, JoinError> {
    let lock = Lock::take_within(PATIENCE)?;
    let joined = join_locked(tid, uid, wish);
    if joined.is_err() {
        // A task that was made for it has nobody.
        sweep_locked()?;
    }
    lock.end()?;
    joined
}

fn join_locked(tid: u32, uid: u32, wish: &Wish) -> Result<Place, JoinError> {
    if let Some(Found {
        ended: Some(ended), ..
    }) = Found::look()?
    {
        return Err(Error::BeatsEnded { ended }.into());
    }
    let (scheduler, record) = beats::running()?;
    let (task, member) = match wish {
        Wish::Declared { task, member } => {
            let record = record.ok_or(JoinError::NotLoaded)?;
            (task.clone(), declared(&record, task, member.as_deref())?)
        }
        Wish::AdHoc(terms) => {
            terms.check()?;
            let roster = record.as_ref().map(|record| record.roster.clone());
            let roster = roster.unwrap_or_default();
            let name = terms.group.clone().unwrap_or_else(|| format!("tid-{tid}"));
            let task = terms.task(&name);
            match roster.beats.tasks.iter().find(|task| task.name == name) {
                Some(known) => check_same(&roster, known, &task, uid)?,
                None => enter(roster, task, uid, scheduler, record)?,
            }
            (name, terms.member)
        }
    };
    let (Some(scheduler), Some(record)) = beats::running()? else {
        return Err(JoinError::NotLoaded);
    };
    let Some(numbers) = record.ids.0.get(&task) else {
        return Err(JoinError::NotLoaded);
    };
    let at = numbers.first_member + member;
    let place = place(&record, &task, member, tid);
    match scheduler.seat(tid, at)? {
        Ok(()) => Ok(place),
        Err(_) => Err(match scheduler.member(at)?.tid {
            0 => JoinError::Joined {
                tid,
                task: place_of(&scheduler, &record, tid)?.unwrap_or(task),
            },
            other if other == tid => JoinError::Joined { tid, task },
            other => JoinError::Taken {
                task,
                member: place.member,
                tid: other,
            },
        }),
    }
}

/// Which of a declared task's members is meant.
fn declared(record: &BeatsRecord, task: &str, member: Option<&str>) -> Result<u32, JoinError> {
    let listed = |names: Vec<&str>| names.join(", ");
    let Some(numbers) = record.ids.0.get(task) else {
        return Err(JoinError::NoTask {
            task: task.to_owned(),
            known: listed(record.ids.0.keys().map(String::as_str).collect()),
        });
    };
    let known = || listed(numbers.members.iter().map(String::as_str).collect());
    match member {
        None if numbers.members.len() == 1 => Ok(0),
        None => Err(JoinError::Group {
            task: task.to_owned(),
            known: known(),
        }),
        Some(member) => (0..)
            .zip(&numbers.members)
            .find_map(|(at, name)| (name == member).then_some(at))
            .ok_or_else(|| JoinError::NoMember {
                task: task.to_owned(),
                member: member.to_owned(),
                known: known(),
            }),
    }
}

/// The group is there already: on the same terms, and the same user's?
fn check_same(roster: &Roster, known: &Task, wanted: &Task, uid: u32) -> Result<(), JoinError> {
    let name = &known.name;
    match roster.ad_hoc.get(name) {
        None => Err(JoinError::Invalid(format!(
            "the policy declares a task `{name}`; take another name for the group"
        ))),
        Some(theirs) if *theirs != uid => Err(JoinError::Invalid(format!(
            "another user's group is called `{name}`; take another name"
        ))),
        Some(_) if known != wanted => Err(JoinError::Invalid(format!(
            "the group `{name}` has other terms: a budget of {} in every {} for {} members; all \
             members must say the same",
            takt_policy::format_duration(known.budget_ns),
            takt_policy::format_duration(known.period_ns),
            known.members.len()
        ))),
        Some(_) => Ok(()),
    }
}

/// Make room for a task that nobody has declared.
fn enter(
    mut roster: Roster,
    task: Task,
    uid: u32,
    scheduler: Option<Scheduler>,
    before: Option<BeatsRecord>,
) -> Result<(), JoinError> {
    roster.ad_hoc.insert(task.name.clone(), uid);
    roster.beats.tasks.push(task);
    let change = Change::to(roster, scheduler, before).map_err(|refusal| match refusal {
        Undecided::Host(error) => JoinError::Host(error),
        refusal => JoinError::NoRoom(refusal.to_string()),
    })?;
    Ok(change.make()?)
}

fn place(record: &BeatsRecord, task: &str, member: u32, tid: u32) -> Place {
    let numbers = record.ids.0.get(task);
    let known = record
        .roster
        .beats
        .tasks
        .iter()
        .find(|known| known.name == task);
    let ad_hoc = record.roster.ad_hoc.get(task).zip(known);
    Place {
        tid,
        page: numbers.map_or(0, |numbers| numbers.first_member + member),
        task: task.to_owned(),
        member: numbers
            .and_then(|numbers| numbers.members.get(member as usize).cloned())
            .unwrap_or_default(),
        ad_hoc: ad_hoc.map(|(uid, task)| AdHoc {
            uid: *uid,
            period_ns: task.period_ns,
            budget_ns: task.budget_ns,
        }),
    }
}

/// The task that a thread has a place in.
fn place_of(
    scheduler: &Scheduler,
    record: &BeatsRecord,
    tid: u32,
) -> Result<Option<String>, Error> {
    let places = occupied(scheduler, record)?;
    Ok(places
        .into_iter()
        .find(|place| place.tid == tid)
        .map(|place| place.task))
}

fn occupied(scheduler: &Scheduler, record: &BeatsRecord) -> Result<Vec<Place>, Error> {
    let mut places = Vec::new();
    for (task, numbers) in &record.ids.0 {
        for member in 0..numbers.members.len() as u32 {
            let tid = scheduler.member(numbers.first_member + member)?.tid;
            if tid != 0 {
                places.push(place(record, task, member, tid));
            }
        }
    }
    Ok(places)
}

/// Whether the thread had a place. The slots of an ad hoc task are free again when its
/// last member has left.
pub fn leave(tid: u32) -> Result<bool, Error> {
    let lock = Lock::take_within(PATIENCE)?;
    let left = leave_locked(tid);
    sweep_locked()?;
    lock.end()?;
    left
}

fn leave_locked(tid: u32) -> Result<bool, Error> {
    let (Some(scheduler), Some(record)) = beats::running()? else {
        return Ok(false);
    };
    let places = occupied(&scheduler, &record)?;
    let Some(place) = places.iter().find(|place| place.tid == tid) else {
        return Ok(false);
    };
    Ok(scheduler.seat(0, place.page)?.is_ok())
}

/// Every thread that has a place.
pub fn list() -> Result<Vec<Place>, Error> {
    match beats::running()? {
        (Some(scheduler), Some(record)) => occupied(&scheduler, &record),
        _ => Ok(Vec::new()),
    }
}

/// Free what threads that are no more had on their own terms. Fails at once while another takt
/// changes the host.
pub fn sweep() -> Result<(), Error> {
    let lock = Lock::take_within(Duration::ZERO)?;
    let swept = sweep_locked();
    lock.end()?;
    swept
}

fn sweep_locked() -> Result<(), Error> {
    let (Some(scheduler), Some(record)) = beats::running()? else {
        return Ok(());
    };
    let places = occupied(&scheduler, &record)?;
    let mut next = record.roster.clone();
    next.ad_hoc
        .retain(|name, _| places.iter().any(|place| place.task == *name));
    if next.ad_hoc == record.roster.ad_hoc {
        return Ok(());
    }
    next.beats.tasks.retain(|task| {
        !record.roster.ad_hoc.contains_key(&task.name) || next.ad_hoc.contains_key(&task.name)
    });
    let change = Change::to(next, Some(scheduler), Some(record));
    change.map_err(Undecided::without_new_tasks)?.make()
}

/// `None` without beats.
pub fn capacity() -> Result<Option<Capacity>, Error> {
    let (_, Some(record)) = beats::running()? else {
        return Ok(None);
    };
    Ok(Some(Capacity {
        cpu_count: record.roster.cpu_count()?,
        assigned_ppm: 1_000_000 - record.roster.beats.free_ppm,
    }))
}

/// The map of job pages, to be read alone; `None` without beats.
pub fn job_pages() -> Result<Option<OwnedFd>, Error> {
    Scheduler::open()?
        .map(|scheduler| scheduler.job_pages())
        .transpose()
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
        refused(
            |t| t.group = Some("a\"v".to_owned()),
            "names are 1 to 31 bytes",
        );
    }
}

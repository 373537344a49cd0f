//! Reservations that threads take at run time, beside those that the policy's rules make.

mod quota;
mod refusal;
mod terms;
mod who;

use std::{os::fd::OwnedFd, time::Duration};

use takt_algo::sys::{TAKT_MEMBERS, TAKT_TASKS};
use takt_policy::{Join, Task};

use crate::{
    apply::session::Session,
    beats::{
        self, BeatsError, BeatsRecord, Change, Found, Numbers, Refusal, Roster, Scheduler,
        SentAway, ad_hoc_key, shown_name,
    },
    error::Error,
};

pub use refusal::JoinError;
pub use terms::{Terms, Wish};
pub use who::Caller;

/// Another takt may wait for the end of a frame.
const PATIENCE: Duration = Duration::from_secs(10);

/// A thread and its reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The host's number of the thread.
    pub tid: u32,
    /// Which of the job pages is the thread's.
    pub page: u32,
    /// The policy's name for the task; of an ad hoc task, the group's, or `tid-` and the
    /// thread's number.
    pub task: String,
    /// The policy's name for the member; of an ad hoc task, its number, from 1.
    pub member: String,
    /// The user of an ad hoc task; `None`: the policy declares the task.
    pub ad_hoc: Option<u32>,
}

/// Reserve a member for one of the caller's threads.
pub fn join(tid: u32, caller: &Caller, wish: &Wish) -> Result<Reservation, JoinError> {
    let admitted = admitted(caller)?;
    let session = Session::begin_within(PATIENCE)?;
    let joined = join_locked(tid, caller.uid, admitted, wish);
    if joined.is_err() {
        // A task that was made for the thread has no member without it.
        sweep_locked()?;
    }
    session.end()?;
    joined
}

/// The join rule of the policy in force, if the caller satisfies it. `None`: the caller is
/// root, who may always join.
fn admitted(caller: &Caller) -> Result<Option<Join>, JoinError> {
    if caller.uid == 0 {
        return Ok(None);
    }
    let (_, record) = beats::running()?;
    // Only root decides whether this host has beats at all.
    let record = record.ok_or(JoinError::NotLoaded)?;
    who::check(caller, &record.roster.beats.join)?;
    Ok(Some(record.roster.beats.join))
}

fn join_locked(
    tid: u32,
    uid: u32,
    admitted: Option<Join>,
    wish: &Wish,
) -> Result<Reservation, JoinError> {
    if let Some(Found {
        ended: Some(ended), ..
    }) = Found::look()?
    {
        return Err(Error::from(BeatsError::BeatsEnded { ended }).into());
    }
    let (scheduler, record) = beats::running()?;
    if let Some(join) = admitted {
        let record = record.as_ref().ok_or(JoinError::NotLoaded)?;
        if record.roster.beats.join != join {
            let changed = "the policy has changed meanwhile, and with it who may join; try again";
            return Err(JoinError::MayNotJoin(changed.to_owned()));
        }
    }
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
            let key = ad_hoc_key(uid, &name);
            let task = terms.task(&key);
            match roster.beats.tasks.iter().find(|task| task.name == key) {
                Some(known) => check_same(known, &task)?,
                None => enter(roster, task, (tid, uid), scheduler, record)?,
            }
            (key, terms.member)
        }
    };
    let (Some(scheduler), Some(record)) = beats::running()? else {
        return Err(JoinError::NotLoaded);
    };
    let Some(numbers) = record.ids.0.get(&task) else {
        return Err(JoinError::NotLoaded);
    };
    let at = numbers.first_member + member;
    let reservation = reservation(&record, &task, member, tid);
    match scheduler.reserve(tid, at)? {
        Ok(()) => Ok(reservation),
        Err(_) => Err(match scheduler.member(at)?.tid {
            0 => JoinError::Joined {
                tid,
                task: task_of(&scheduler, &record, tid)?.unwrap_or(reservation.task),
            },
            other if other == tid => JoinError::Joined {
                tid,
                task: reservation.task,
            },
            other => JoinError::Taken {
                task: reservation.task,
                member: reservation.member,
                tid: other,
            },
        }),
    }
}

/// Which of a declared task's members is meant.
fn declared(record: &BeatsRecord, task: &str, member: Option<&str>) -> Result<u32, JoinError> {
    let listed = |names: Vec<&str>| names.join(", ");
    // An ad hoc task may be joined by its own user's threads, on its terms.
    let is_declared = |name: &str| !record.roster.ad_hoc.contains_key(name);
    let numbers = record.ids.0.get(task).filter(|_| is_declared(task));
    let Some(numbers) = numbers else {
        let known = record.ids.0.keys().map(String::as_str);
        return Err(JoinError::NoTask {
            task: task.to_owned(),
            known: match listed(known.filter(|name| is_declared(name)).collect()) {
                none if none.is_empty() => "none".to_owned(),
                known => known,
            },
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

/// The group exists: check that the terms are the same.
fn check_same(known: &Task, wanted: &Task) -> Result<(), JoinError> {
    if known == wanted {
        return Ok(());
    }
    Err(JoinError::Invalid(format!(
        "the group `{}` has other terms: a budget of {} in every {} for {} members; all members must say \
         the same",
        shown_name(&known.name),
        takt_policy::format_duration(known.budget_ns),
        known.period_ns,
        known.members.len()
    )))
}

/// Make room for a task that no policy declares.
fn enter(
    mut roster: Roster,
    task: Task,
    (tid, uid): (u32, u32),
    scheduler: Option<Scheduler>,
    before: Option<BeatsRecord>,
) -> Result<(), JoinError> {
    if scheduler.is_none() {
        beats::refuse_cgroup_limits(Some(&roster.beats))?;
    }
    let frames = roster.common_frames(before.as_ref())?;
    quota::admit(uid, &task, &roster, &frames)?;
    let (comes, threads) = (task.name.clone(), task.members.len());
    roster.ad_hoc.insert(comes.clone(), uid);
    roster.beats.tasks.push(task);
    roster.sent_away.retain(|thread| thread.tid != tid);
    if !roster.has_numbers(before.as_ref()) {
        return Err(JoinError::NoRoom(format!(
            "the scheduler has no room for {threads} more threads in a task: at most \
             {TAKT_MEMBERS} threads in {TAKT_TASKS} tasks"
        )));
    }
    let change = Change::beside(roster, &comes, scheduler, before);
    let change = change.map_err(|refusal| match refusal {
        Refusal::Host(error) => JoinError::Host(error),
        refusal => JoinError::NoRoom(refusal.to_string()),
    })?;
    Ok(change.make()?)
}

fn reservation(record: &BeatsRecord, task: &str, member: u32, tid: u32) -> Reservation {
    let numbers = record.ids.0.get(task);
    Reservation {
        tid,
        page: numbers.map_or(0, |numbers| numbers.first_member + member),
        task: shown_name(task).to_owned(),
        member: numbers
            .and_then(|numbers| numbers.members.get(member as usize).cloned())
            .unwrap_or_default(),
        ad_hoc: record.roster.ad_hoc.get(task).copied(),
    }
}

/// The task that a thread has a reservation in.
fn task_of(scheduler: &Scheduler, record: &BeatsRecord, tid: u32) -> Result<Option<String>, Error> {
    let reservations = occupied(scheduler, record)?;
    Ok(reservations
        .into_iter()
        .find(|reservation| reservation.tid == tid)
        .map(|reservation| reservation.task))
}

fn occupied(scheduler: &Scheduler, record: &BeatsRecord) -> Result<Vec<Reservation>, Error> {
    let mut reservations = Vec::new();
    for (task, numbers) in &record.ids.0 {
        for member in 0..numbers.members.len() as u32 {
            let tid = scheduler.member(numbers.first_member + member)?.tid;
            if tid != 0 {
                reservations.push(reservation(record, task, member, tid));
            }
        }
    }
    Ok(reservations)
}

/// Returns whether the thread had a reservation. The slots of an ad hoc task are free again
/// when its last member has left.
pub fn leave(tid: u32) -> Result<bool, Error> {
    let session = Session::begin_within(PATIENCE)?;
    let left = leave_locked(tid);
    sweep_locked()?;
    session.end()?;
    left
}

fn leave_locked(tid: u32) -> Result<bool, Error> {
    let (Some(scheduler), Some(record)) = beats::running()? else {
        return Ok(false);
    };
    let reservations = occupied(&scheduler, &record)?;
    let Some(reservation) = reservations
        .iter()
        .find(|reservation| reservation.tid == tid)
    else {
        return Ok(false);
    };
    Ok(scheduler.reserve(0, reservation.page)?.is_ok())
}

/// Every thread that has a reservation.
pub fn list() -> Result<Vec<Reservation>, Error> {
    match beats::running()? {
        (Some(scheduler), Some(record)) => occupied(&scheduler, &record),
        _ => Ok(Vec::new()),
    }
}

/// Free the ad hoc reservations of threads that have ended. Fails at once while another takt
/// changes the host.
pub fn sweep() -> Result<(), Error> {
    let session = Session::begin_within(Duration::ZERO)?;
    let swept = sweep_locked();
    session.end()?;
    swept
}

fn sweep_locked() -> Result<(), Error> {
    let (Some(scheduler), Some(record)) = beats::running()? else {
        return Ok(());
    };
    let mut left = Vec::new();
    for (task, numbers) in &record.ids.0 {
        if record.roster.ad_hoc.contains_key(task) && !is_occupied(&scheduler, numbers)? {
            left.push(task.clone());
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    let next = record
        .roster
        .without(|task| left.iter().any(|gone| gone == task));
    let change = Change::to(next, Some(scheduler), Some(record));
    change.map_err(Refusal::without_new_tasks)?.make()
}

fn is_occupied(scheduler: &Scheduler, numbers: &Numbers) -> Result<bool, Error> {
    for member in numbers.indices() {
        if scheduler.member(member)?.tid != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Why a thread lost its reservation, if it did; shown to its user and to root only.
pub fn sent_away(tid: u32, uid: u32) -> Result<Option<SentAway>, Error> {
    let (_, record) = beats::running()?;
    let threads = record
        .into_iter()
        .flat_map(|record| record.roster.sent_away);
    let mut told = threads.filter(|thread| uid == 0 || thread.user == uid);
    Ok(told.find(|thread| thread.tid == tid))
}

/// The map of job pages, read-only; `None` without beats.
pub fn job_pages() -> Result<Option<OwnedFd>, Error> {
    Scheduler::open()?
        .map(|scheduler| scheduler.job_pages())
        .transpose()
}

//! A policy on trial: it is in force, and taken back unless an administrator confirms it in time.
//!
//! Two processes see to that: the takt that applied it, and its guard, a child that outlives
//! its terminal. Either takes it back when the other is gone. [`stage`] decides whose turn it
//! is, [`journal`] is what both and every other takt read, [`process`] tells who they are, and
//! [`crate::apply::restore`] does the work. Until it is decided, no other policy is applied on the
//! host.

mod journal;
mod process;
mod stage;
mod status;

use std::time::Duration;

use takt_planner::Questions;
use takt_policy::Policy;

use self::{
    journal::{Change, Event, Journal, boot_id},
    process::Process,
};
pub use self::{
    process::Admin,
    stage::{Role, Stage, Turn},
    status::{PendingState, PendingStatus},
};
use crate::{
    apply::{
        Applied, Options, announce, apply_locked,
        lock::Lock,
        restore::{Replaced, Restoration},
        tend,
    },
    crowd,
    error::Error,
    link::{decide::Undecided, sockets::Asked},
    os::{capability, clock::boottime_ns, namespace},
    state::source::Source,
};

/// The terms of a trial.
#[derive(Debug)]
pub struct Trial {
    /// As the guard is told.
    pub id: String,
    /// How long the policy waits to be confirmed, from when it is in force.
    pub patience: Duration,
}

impl Trial {
    /// Of this process, which starts one at a time.
    pub fn new(patience: Duration) -> Self {
        Self {
            id: format!("{}-{}", std::process::id(), boottime_ns()),
            patience,
        }
    }
}

/// A policy on trial, as one of the two processes that see to it holds it.
#[derive(Debug)]
pub struct Pending(Journal);

/// Make this host follow a policy until it is confirmed or taken back. The guard, which is
/// told the trial's id, runs already.
pub fn apply_on_trial(
    policy: &Policy,
    source: &Source,
    options: Options,
    trial: &Trial,
    guard_pid: u32,
) -> Result<(Applied, Pending), Undecided> {
    capability::require()?;
    let questions = Questions::of(&policy.links);
    let asked = Asked::resolve(&questions)?;
    let lock = Lock::take()?;
    let begun = none_waits().and_then(|()| Journal::begin(change(source, trial, guard_pid)?));
    let done = begun.map_err(Undecided::from).and_then(|mut journal| {
        let replace = options.replace();
        let applied = apply_locked(policy, source, replace, false, &questions, &asked)
            .inspect_err(|_| drop(journal.remove()))?;
        let noted = note_applied(&mut journal);
        Ok((applied, Pending(journal), noted))
    });
    let _coming = done.is_ok().then(|| announce(policy));
    // What went wrong first is what to report.
    let ended = lock.end();
    let (applied, mut pending, noted) = done?;
    match noted.and(ended).and_then(|()| tend(policy)) {
        Ok(()) => Ok((applied, pending)),
        // It is in force, and not as it should be.
        Err(error) => Err(error.after([pending.take_back().map(drop)]).into()),
    }
}

fn change(source: &Source, trial: &Trial, guard_pid: u32) -> Result<Change, Error> {
    Ok(Change {
        id: trial.id.clone(),
        boot_id: boot_id()?,
        by: Admin::of_this_process(),
        takt: Process::own(),
        guard: Process::of(guard_pid),
        netns_inode: namespace::own().map_err(Error::file(namespace::OWN))?,
        netns_cookie: namespace::netns_cookie()?,
        policy: source.name.clone(),
        begun_ns: boottime_ns(),
        patience_ns: trial.patience.as_nanos().try_into().unwrap_or(u64::MAX),
        replaced: Replaced::look()?,
    })
}

fn note_applied(journal: &mut Journal) -> Result<(), Error> {
    journal.append(Event::Applied {
        at_ns: boottime_ns(),
        congestion: crowd::default_congestion()?,
    })
}

impl Pending {
    /// That of this id, if there is one.
    pub fn find(id: &str) -> Result<Option<Self>, Error> {
        let journal = Journal::open()?;
        Ok(journal.filter(|journal| journal.change.id == id).map(Self))
    }

    /// That which is not decided yet, if any is.
    fn undecided() -> Result<Self, Error> {
        let journal = Journal::open()?.filter(Journal::is_undecided);
        journal.map(Self).ok_or(Error::NothingPending)
    }

    /// How it stands now.
    pub fn stage(&mut self) -> Result<Stage, Error> {
        self.0.look()?;
        Ok(self.0.stage(boottime_ns()))
    }

    /// It is confirmed, unless that comes too late.
    pub fn keep(&mut self) -> Result<PendingStatus, Error> {
        let lock = Lock::take()?;
        let kept = self.0.look().and_then(|()| keep(&mut self.0));
        let ended = lock.end();
        let kept = kept?;
        ended?;
        Ok(kept)
    }

    /// It is not: what was before is put back, and what was changed meanwhile left alone. What
    /// has become of it, also if that was decided before.
    pub fn take_back(&mut self) -> Result<Stage, Error> {
        let replaced = self.0.change.replaced.clone();
        let restoration = Restoration::prepare(&replaced);
        let lock = Lock::take()?;
        let looked = self.0.look();
        let done = looked.and_then(|()| take_back(&mut self.0, restoration));
        let restored = done
            .as_ref()
            .ok()
            .and_then(|(_, restored)| restored.as_ref());
        let _coming = restored.map(Restoration::announce);
        let ended = lock.end();
        let (stage, restored) = done?;
        ended?;
        restored.as_ref().map_or(Ok(()), Restoration::tend)?;
        Ok(stage)
    }
}

/// Keep the policy that waits, from any session.
pub fn confirm() -> Result<PendingStatus, Error> {
    capability::require()?;
    Pending::undecided()?.keep()
}

/// Take back the policy that waits, from any session of its network namespace. What it was, and
/// what became of it.
pub fn cancel() -> Result<(PendingStatus, Stage), Error> {
    capability::require()?;
    let mut pending = Pending::undecided()?;
    let status = PendingStatus::of(&pending.0, boottime_ns());
    Ok((status, pending.take_back()?))
}

/// Under the lock.
fn keep(journal: &mut Journal) -> Result<PendingStatus, Error> {
    let now_ns = boottime_ns();
    let status = PendingStatus::of(journal, now_ns);
    match journal.stage(now_ns) {
        Stage::Waiting { .. } => {}
        Stage::Kept { .. } | Stage::TakenBack { .. } | Stage::Gone => {
            return Err(Error::NothingPending);
        }
        Stage::Applying | Stage::Expired { .. } | Stage::Failed { .. } => {
            return Err(Error::NotConfirmable(Box::new(status)));
        }
    }
    let by = Admin::of_this_process();
    journal.append(Event::Kept { by })?;
    journal.remove()?;
    Ok(status)
}

/// Under the lock. What has become of it, and what was put back just now.
fn take_back<'a>(
    journal: &mut Journal,
    restoration: Result<Restoration<'a>, Error>,
) -> Result<(Stage, Option<Restoration<'a>>), Error> {
    let stage = journal.stage(boottime_ns());
    if stage.is_decided() {
        return Ok((stage, None));
    }
    if namespace::netns_cookie()? != journal.change.netns_cookie {
        return Err(Error::PendingElsewhere {
            policy: journal.change.policy.clone(),
        });
    }
    let put_back = restoration.and_then(|mut restoration| {
        let left = restoration.put_back(journal.congestion())?;
        Ok((left, restoration))
    });
    match put_back {
        Ok((left, restoration)) => {
            let by = Admin::of_this_process();
            let left = left.iter().map(Error::to_string).collect();
            let verdict = Event::TakenBack { by, left };
            let stage = verdict.stage(&journal.change, boottime_ns());
            // Where there is no room to say so, it is done all the same.
            let _ = journal.append(verdict);
            journal.remove()?;
            Ok((stage, Some(restoration)))
        }
        Err(error) => {
            let failed = Event::Failed {
                at_ns: boottime_ns(),
                reason: error.to_string(),
            };
            let _ = journal.append(failed);
            Err(error)
        }
    }
}

/// Refuse to change the host while a policy waits. Under the lock.
pub(crate) fn none_waits() -> Result<(), Error> {
    match waiting()? {
        Some(journal) => Err(refusal(&journal)),
        None => forget(),
    }
}

/// Likewise; but one that is overdue, and has no process left to take it back, is in no way
/// of taking everything back. Neither is what cannot be read.
pub(crate) fn none_waits_for_long() -> Result<(), Error> {
    let journal = match waiting() {
        Err(Error::BadRecord { .. }) => return Ok(()),
        found => found?,
    };
    let Some(journal) = journal else {
        return Ok(());
    };
    let is_waiting = matches!(journal.stage(boottime_ns()), Stage::Waiting { .. });
    let is_here = namespace::netns_cookie()? == journal.change.netns_cookie;
    match journal.is_orphaned() && is_here && !is_waiting {
        true => Ok(()),
        false => Err(refusal(&journal)),
    }
}

fn refusal(journal: &Journal) -> Error {
    Error::Pending(Box::new(PendingStatus::of(journal, boottime_ns())))
}

/// Nothing waits any more. Under the lock.
pub(crate) fn forget() -> Result<(), Error> {
    journal::remove()
}

/// What waits on this host, if anything does.
pub(crate) fn status() -> Result<Option<PendingStatus>, Error> {
    let journal = waiting()?;
    Ok(journal.map(|journal| PendingStatus::of(&journal, boottime_ns())))
}

/// Undecided, of this boot, and of a network namespace that lives.
fn waiting() -> Result<Option<Journal>, Error> {
    let is_alive = |journal: &Journal| {
        let change = &journal.change;
        journal.is_undecided() && !namespace::is_gone(change.netns_inode, change.netns_cookie)
    };
    Ok(Journal::open()?.filter(is_alive))
}

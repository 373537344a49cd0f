//! A policy on trial: in force, and taken back unless an administrator confirms it in time.
//!
//! Two processes are responsible: the takt that applied it, and its guard, a child that
//! outlives its terminal. Each takes the policy back if the other is gone. If both are, taktd does,
//! or the next takt that looks at the host or changes it. [`stage`] decides
//! whose turn it is, [`journal`] is read by both and by every other takt, [`process`]
//! identifies them, and [`crate::apply::restore`] does the work. Until the trial is decided, no
//! other policy is applied on the host.

mod journal;
mod process;
mod stage;
mod status;

use std::time::Duration;

use takt_policy::Policy;

pub(crate) use self::journal::fuzz;
use self::{
    journal::{Change, Event, Journal},
    process::Process,
};
pub use self::{
    process::Admin,
    stage::{Role, Stage, Turn},
    status::{PendingState, PendingStatus},
};
use crate::{
    apply::{
        Applied, Options, TrialError, announce, apply_locked,
        restore::{Replaced, Restoration},
        session::Session,
        tend,
        undecided::Undecided,
    },
    beats::refuse_cgroup_limits,
    crowd,
    error::Error,
    link::Owners,
    os::{OsError, boot, capability, clock::boottime_ns, namespace},
    state::{StateError, source::Source, store},
};

/// The terms of a trial.
#[derive(Debug)]
pub struct Trial {
    /// The trial's id, as passed to the guard.
    pub id: String,
    /// How long the policy waits to be confirmed, from when it is in force.
    pub patience: Duration,
}

impl Trial {
    /// A trial of this process, which starts one at a time.
    pub fn new(patience: Duration) -> Self {
        Self {
            id: format!("{}-{}", std::process::id(), boottime_ns()),
            patience,
        }
    }
}

/// A policy on trial, as seen by one of the two responsible processes.
#[derive(Debug)]
pub struct Pending(Journal);

/// Make this host follow a policy until it is confirmed or taken back. The guard runs already
/// and knows the trial's id.
pub fn apply_on_trial(
    policy: &Policy,
    source: &Source,
    options: Options,
    trial: &Trial,
    guard_pid: u32,
) -> Result<(Applied, Pending), Undecided> {
    capability::require()?;
    let owners = Owners::look_up(policy)?;
    let session = Session::begin()?;
    let begun = none_waits()
        .and_then(|()| refuse_cgroup_limits(policy.beats.as_ref()))
        .and_then(|()| Journal::begin(change(source, trial, guard_pid)?));
    let done = begun.map_err(Undecided::from).and_then(|mut journal| {
        let applied = apply_locked(policy, source, &options.replace(), false, &owners, None)
            .inspect_err(|_| drop(journal.remove()))?;
        let noted = note_applied(&mut journal);
        Ok((applied, Pending(journal), noted))
    });
    let _coming = done.is_ok().then(|| announce(policy));
    // The first error is the one to report.
    let ended = session.end();
    let (applied, mut pending, noted) = done?;
    match noted.and(ended).and_then(|()| tend(policy)) {
        Ok(()) => Ok((applied, pending)),
        // The policy is in force, but not completely.
        Err(error) => Err(error.after(pending.take_back().err()).into()),
    }
}

fn change(source: &Source, trial: &Trial, guard_pid: u32) -> Result<Change, Error> {
    Ok(Change {
        version: store::VERSION,
        id: trial.id.clone(),
        boot_id: boot::id()?.to_owned(),
        by: Admin::of_this_process(),
        takt: Process::own(),
        guard: Process::new(guard_pid),
        netns_inode: namespace::own().map_err(OsError::file(namespace::OWN))?,
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
    /// The trial with this id, if there is one.
    pub fn find(id: &str) -> Result<Option<Self>, Error> {
        let journal = Journal::open()?;
        Ok(journal.filter(|journal| journal.change.id == id).map(Self))
    }

    /// The undecided trial of this network namespace, if there is one.
    pub fn here() -> Result<Option<Self>, Error> {
        let own = namespace::netns_cookie()?;
        let journal = waiting()?.filter(|journal| journal.change.netns_cookie == own);
        Ok(journal.map(Self))
    }

    /// Whether it has to be taken back, and both processes that should do so are gone.
    pub fn is_left_behind(&self) -> bool {
        let alone = Role::Guard { takt_runs: false };
        let stage = self.0.stage(boottime_ns());
        self.0.is_orphaned() && stage.turn(alone) == Turn::TakeBack
    }

    /// The policy's name.
    pub fn policy(&self) -> &str {
        &self.0.change.policy
    }

    /// The undecided trial, if there is one.
    fn undecided() -> Result<Self, Error> {
        let journal = Journal::open()?.filter(Journal::is_undecided);
        journal.map(Self).ok_or(TrialError::NothingPending.into())
    }

    /// Its stage now.
    pub fn stage(&mut self) -> Result<Stage, Error> {
        self.0.look()?;
        Ok(self.0.stage(boottime_ns()))
    }

    /// Confirm it, unless the time is over.
    pub fn keep(&mut self) -> Result<PendingStatus, Error> {
        let session = Session::begin()?;
        let kept = self.0.look().and_then(|()| keep(&mut self.0));
        let ended = session.end();
        let kept = kept?;
        ended?;
        Ok(kept)
    }

    /// Take it back: restore the previous state, except for what was changed meanwhile. Returns
    /// the outcome, also if it was decided before.
    pub fn take_back(&mut self) -> Result<Stage, Error> {
        let replaced = self.0.change.replaced.clone();
        let restoration = Restoration::prepare(&replaced);
        let session = Session::begin()?;
        let looked = self.0.look();
        let done = looked.and_then(|()| take_back(&mut self.0, restoration));
        let restored = done
            .as_ref()
            .ok()
            .and_then(|(_, restored)| restored.as_ref());
        let _coming = restored.map(Restoration::announce);
        let ended = session.end();
        let (stage, restored) = done?;
        ended?;
        restored.as_ref().map_or(Ok(()), Restoration::tend)?;
        Ok(stage)
    }
}

/// Confirm the waiting policy, from any session.
pub fn confirm() -> Result<PendingStatus, Error> {
    capability::require()?;
    Pending::undecided()?.keep()
}

/// Take back the waiting policy, from any session of its network namespace. Returns the policy
/// and the outcome.
pub fn cancel() -> Result<(PendingStatus, Stage), Error> {
    capability::require()?;
    let mut pending = Pending::undecided()?;
    let status = PendingStatus::new(&pending.0, boottime_ns());
    Ok((status, pending.take_back()?))
}

/// Needs the lock.
fn keep(journal: &mut Journal) -> Result<PendingStatus, Error> {
    let now_ns = boottime_ns();
    let status = PendingStatus::new(journal, now_ns);
    match journal.stage(now_ns) {
        Stage::Waiting { .. } => {}
        Stage::Kept { .. } | Stage::TakenBack { .. } | Stage::Gone => {
            return Err(TrialError::NothingPending.into());
        }
        Stage::Applying | Stage::Expired { .. } | Stage::Failed { .. } => {
            return Err(TrialError::NotConfirmable(Box::new(status)).into());
        }
    }
    let by = Admin::of_this_process();
    journal.append(Event::Kept { by })?;
    journal.remove()?;
    Ok(status)
}

/// Needs the lock. Returns the outcome, and what was restored just now.
fn take_back<'a>(
    journal: &mut Journal,
    restoration: Result<Restoration<'a>, Error>,
) -> Result<(Stage, Option<Restoration<'a>>), Error> {
    let stage = journal.stage(boottime_ns());
    if stage.is_decided() {
        return Ok((stage, None));
    }
    if namespace::netns_cookie()? != journal.change.netns_cookie {
        return Err(TrialError::PendingElsewhere {
            policy: journal.change.policy.clone(),
        }
        .into());
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
            // Without space for the line, go on all the same.
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

/// Refuse to change the host while a policy is on trial. Needs the lock.
pub(crate) fn none_waits() -> Result<(), Error> {
    match waiting()? {
        Some(journal) => Err(refusal(&journal)),
        None => forget(),
    }
}

/// As [`none_waits`], but for taking everything back: an overdue trial without a process, or
/// one that cannot be read, does not prevent that.
pub(crate) fn none_waits_for_long() -> Result<(), Error> {
    let journal = match waiting() {
        Err(error) if StateError::bad_record(&error).is_some() => return Ok(()),
        found => found?,
    };
    let Some(journal) = journal else {
        return Ok(());
    };
    let is_waiting = matches!(journal.stage(boottime_ns()), Stage::Waiting { .. });
    let is_here = namespace::netns_cookie()? == journal.change.netns_cookie;
    if journal.is_orphaned() && is_here && !is_waiting {
        Ok(())
    } else {
        Err(refusal(&journal))
    }
}

fn refusal(journal: &Journal) -> Error {
    TrialError::Pending(Box::new(PendingStatus::new(journal, boottime_ns()))).into()
}

/// Remove the journal, so that no policy waits any more. Needs the lock.
pub(crate) fn forget() -> Result<(), Error> {
    journal::remove()
}

/// The policy on trial on this host, if there is one.
pub(crate) fn status() -> Result<Option<PendingStatus>, Error> {
    let journal = waiting()?;
    Ok(journal.map(|journal| PendingStatus::new(&journal, boottime_ns())))
}

/// Undecided, of this boot, and of a living network namespace.
fn waiting() -> Result<Option<Journal>, Error> {
    let is_alive = |journal: &Journal| {
        let change = &journal.change;
        journal.is_undecided() && !namespace::is_gone(change.netns_inode, change.netns_cookie)
    };
    Ok(Journal::open()?.filter(is_alive))
}

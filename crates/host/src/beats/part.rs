//! The part of a transaction that is the beats': the policy's tasks and the scheduler that runs
//! them. Ad hoc tasks join and leave between transactions ([`crate::reservations`]) by the same
//! [`Change`].

use takt_policy::Beats;

use super::{
    change::{BeatsAction, Change, unload},
    displaced::Displaced,
    found::Found,
    kernel_threads,
    record::BeatsRecord,
    refusal::Refusal,
    roster::Roster,
    scheduler::Scheduler,
    softirq,
    status::{self, BeatsStatus, TaskStatus},
};
use crate::{
    beats::BeatsError,
    bpf::pinned::BEATS,
    error::Error,
    part::{Ending, Host, Part, Query, Undone},
    state::source::Source,
};

/// What a policy changes of the tasks.
pub(crate) struct Tasks(Change);

impl Tasks {
    /// Replace the tasks of the previous policy by these.
    pub fn decide(policy: Option<(&Beats, &Source)>, netns_cookie: u64) -> Result<Self, Refusal> {
        let Some(found) = Found::look()? else {
            let next = Roster::of_policy(policy, netns_cookie, None);
            return Ok(Self(if BEATS.is_pinned()? {
                Change::in_the_place_of(next, BeatsRecord::newest()?)?
            } else {
                Change::to(next, None, None)?
            }));
        };
        if found.is_elsewhere(netns_cookie) {
            // Another namespace's policy is not changed.
            if policy.is_none() {
                return Ok(Self(Change::nothing(Some(found.scheduler), found.record)));
            }
            let source = found.record.and_then(|record| record.roster.source);
            let policy = source.map(|source| source.name).unwrap_or_default();
            return Err(Error::from(BeatsError::BeatsElsewhere { policy }).into());
        }
        if found.ended.is_some() {
            // With the scheduler, all ad hoc tasks lost their reservations.
            let next = Roster::of_policy(policy, netns_cookie, None);
            return Ok(Self(Change::to(next, None, None)?.after_an_end()));
        }
        let roster = found.record.as_ref().map(|record| &record.roster);
        let next = Roster::of_policy(policy, netns_cookie, roster);
        Ok(Self(Change::to(next, Some(found.scheduler), found.record)?))
    }

    pub fn action(&self) -> Option<BeatsAction> {
        self.0.action()
    }

    /// Ad hoc tasks that make room.
    pub fn displaced(&self) -> &[Displaced] {
        self.0.displaced()
    }
}

impl Part for Tasks {
    /// `None`: there was nothing to end.
    type Undone = Option<BeatsAction>;
    /// Of the scheduler, if one is loaded, and of the tasks.
    type Status = (Option<BeatsStatus>, Vec<TaskStatus>);

    fn revert(host: &mut Host, ending: Ending) -> Result<Undone<Self::Undone>, Error> {
        let done = match ending {
            Ending::All => end_all(host.netns_cookie)?,
            Ending::Policy => withdraw(host.netns_cookie)?,
        };
        Ok(Undone::all(done))
    }

    /// Tasks follow it also when the kernel has ended their scheduler.
    fn source(host: &mut Host) -> Result<Option<Source>, Error> {
        let found = Found::look()?;
        Ok(found.and_then(|found| found.policy_of(host.netns_cookie)))
    }

    fn status(_: &mut Host, _: Query) -> Result<Self::Status, Error> {
        let Some(found) = Found::look()? else {
            return Ok((None, Vec::new()));
        };
        Ok((
            Some(status::of_scheduler(&found)?),
            status::of_tasks(&found)?,
        ))
    }

    /// The scheduler stays until a policy or an administrator ends it.
    fn settle() -> Result<bool, Error> {
        if Scheduler::open()?.is_some() {
            return Ok(true);
        }
        // It may have been removed by its pins, and the record stayed.
        softirq::restore()?;
        kernel_threads::restore()?;
        Ok(false)
    }

    fn verify(&self) -> Result<(), Error> {
        self.0.verify()
    }

    fn prepare(&mut self, _: &mut Host) -> Result<(), Error> {
        self.0.prepare()
    }

    fn commit(&mut self, _: &mut Host) -> Result<(), Error> {
        self.0.commit()
    }

    fn undo(&mut self, _: &mut Host) -> Vec<Error> {
        self.0.undo().err().into_iter().collect()
    }

    fn tidy(&mut self, _: &mut Host) -> Result<(), Error> {
        self.0.tidy()
    }
}

/// End the policy's tasks of a namespace, and ad hoc tasks with them.
fn end_all(netns_cookie: u64) -> Result<Option<BeatsAction>, Error> {
    match Found::look()? {
        Some(found) if found.is_elsewhere(netns_cookie) => Ok(None),
        found => {
            unload()?;
            Ok(found.map(|_| BeatsAction::Unloaded))
        }
    }
}

/// End the policy's tasks of a namespace alone.
fn withdraw(netns_cookie: u64) -> Result<Option<BeatsAction>, Error> {
    let Tasks(change) = Tasks::decide(None, netns_cookie).map_err(Refusal::without_new_tasks)?;
    change.make()?;
    Ok(change.action())
}

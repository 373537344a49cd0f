//! What an earlier takt left of a scheduler.

use super::{
    ended::{Ended, Kernel, NAME, judge},
    record::BeatsRecord,
    scheduler::Scheduler,
};
use crate::{beats::BeatsError, bpf::pinned::BEATS, error::Error, state::source::Source};

/// A scheduler by its pins, which stay when the kernel ends it.
pub(crate) struct Found {
    pub scheduler: Scheduler,
    /// Its record; `None` if that is lost.
    pub record: Option<BeatsRecord>,
    /// `None`: it runs.
    pub ended: Option<Ended>,
}

impl Found {
    pub fn look() -> Result<Option<Self>, Error> {
        let Some(scheduler) = Scheduler::open()? else {
            return Ok(None);
        };
        let state = scheduler.state()?;
        Ok(Some(Self {
            record: BeatsRecord::read(state.generation)?,
            ended: judge(&state, &Kernel::ask()),
            scheduler,
        }))
    }

    /// Whether its tasks are those of the policy of another network namespace that still
    /// exists. Tasks of a namespace that is gone may be ended from any namespace.
    pub fn is_elsewhere(&self, netns_cookie: u64) -> bool {
        let roster = self.record.as_ref().map(|record| &record.roster);
        roster.is_some_and(|roster| roster.is_elsewhere(netns_cookie))
    }

    /// The policy of this network namespace whose tasks they are.
    pub fn policy_of(self, netns_cookie: u64) -> Option<Source> {
        let roster = self.record?.roster;
        roster
            .source
            .filter(|_| roster.netns_cookie == netns_cookie)
    }
}

/// The running scheduler and its record.
pub(crate) fn running() -> Result<(Option<Scheduler>, Option<BeatsRecord>), Error> {
    Ok(match Found::look()? {
        Some(found) if found.ended.is_none() => (Some(found.scheduler), found.record),
        _ => (None, None),
    })
}

/// The kernel runs one such scheduler at a time: refuse if another program loaded it.
pub(crate) fn refuse_other_scheduler() -> Result<(), Error> {
    let is_ours = BEATS.is_pinned()?;
    let kernel = if is_ours {
        Kernel::ask()
    } else {
        Kernel::without_ours()
    };
    match kernel.runs() {
        Some(name) if name != NAME || !is_ours => Err(BeatsError::OtherScheduler { name }.into()),
        _ => Ok(()),
    }
}

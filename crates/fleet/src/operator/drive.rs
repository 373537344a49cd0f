//! Releases a rollout's waves, as its hosts report that they keep the policy.

use std::time::Duration;

use async_nats::jetstream::kv;
use futures_util::StreamExt;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Current, Error, Operator, Roster};
use crate::{
    engine::EngineError,
    place::END,
    rollout::{Decision, Member, State, decide},
    selector::Selector,
};

/// Between two decisions.
const DECIDE: Duration = Duration::from_millis(200);
/// Between two looks for another signer's revision.
const LOOK: Duration = Duration::from_secs(2);

/// How far a rollout is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Hosts of the assignment.
    pub hosts: usize,
    /// Of these: they may have the target.
    pub released: usize,
    /// Of these: on trial.
    pub trying: usize,
    /// They keep it.
    pub kept: usize,
    /// They took it back.
    pub failed: usize,
    /// Not heard of for a while.
    pub absent: usize,
}

impl Progress {
    /// Of these hosts, with places released below this.
    pub fn of(members: &[Member], released: u64) -> Self {
        let mut progress = Self {
            hosts: members.len(),
            ..Self::default()
        };
        for member in members {
            progress.released += usize::from(member.place < released);
            progress.absent += usize::from(!member.is_present);
            match member.state {
                State::Waiting => {}
                State::Trying => progress.trying += 1,
                State::Kept => progress.kept += 1,
                State::Failed(_) => progress.failed += 1,
            }
        }
        progress
    }
}

/// How a rollout ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// All hosts that are there keep it.
    Done(Progress),
    /// A wave did not keep it: all go back.
    Halted(Progress, String),
    /// Another signer pushed, or took it back.
    Superseded(u64),
}

impl Operator {
    /// Goes on with a rollout until it ends, and tells what changes.
    pub async fn drive(
        &mut self,
        to: &Selector,
        mut tell: impl FnMut(&Progress, bool),
    ) -> Result<Ended, Error> {
        let mut current = self.current().await?;
        let since = match find(&current, to) {
            Some(own) => own.target.since,
            None => return Err(Error::NotAssigned(to.clone())),
        };
        // Hosts that were there at the push are waited for, also by a signer that came later.
        let pushed = self.history().await?;
        let pushed = pushed.iter().find(|at| at.revision.number == since);
        let pushed_s = pushed.map_or(current.at_s, |pushed| pushed.at_s);
        let watch = self.engine.hosts().watch_with_history(">").await;
        let mut watch = watch.map_err(EngineError::of)?;
        let mut roster = Roster::default();
        let mut released_at = Instant::now();
        let mut looked_at = Instant::now();
        let mut told = None;
        // Until the reports that are there have been read, hosts seem to be missing.
        let mut is_caught_up = self.engine.has_no_hosts().await?;
        let mut ticks = interval(DECIDE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                entry = watch.next() => {
                    let lost = || EngineError("the engine tells no more of its hosts".to_owned());
                    let entry = entry.ok_or_else(lost)?.map_err(EngineError::of)?;
                    is_caught_up |= entry.delta == 0;
                    match entry.operation {
                        kv::Operation::Put => roster.take(&entry, &self.fleet, &mut self.memory),
                        _ => roster.forget(&entry.key),
                    }
                    continue;
                }
                _ = ticks.tick() => {}
            }
            if !is_caught_up {
                continue;
            }
            if looked_at.elapsed() >= LOOK {
                looked_at = Instant::now();
                // The engine may be gone for a while: hosts go on, and so does this.
                match self.current().await {
                    Err(Error::Engine(_)) => continue,
                    found => current = found?,
                }
            }
            let Some(own) = find(&current, to).filter(|own| own.target.since == since) else {
                return Ok(Ended::Superseded(current.revision.number));
            };
            let own = own.clone();
            let members = roster.members(&current.revision, &own, pushed_s);
            let progress = Progress::of(&members, own.released);
            if told != Some((progress, own.paused)) {
                told = Some((progress, own.paused));
                tell(&progress, own.paused);
            }
            match decide(&own, &members, released_at.elapsed()) {
                Decision::Wait => {}
                Decision::Done => {
                    self.memory.save()?;
                    return Ok(Ended::Done(progress));
                }
                Decision::Release(places) => {
                    let released = self.release(to, since, places).await;
                    match released {
                        Err(Error::Engine(_)) => continue,
                        released => current = released?,
                    }
                    released_at = Instant::now();
                }
                Decision::Halt(why) => {
                    match self.halt(to, since, &why).await {
                        Err(Error::Engine(_)) => continue,
                        halted => halted?,
                    };
                    self.memory.save()?;
                    return Ok(Ended::Halted(progress, why));
                }
            }
        }
    }

    async fn release(&mut self, to: &Selector, since: u64, places: u64) -> Result<Current, Error> {
        self.change(to, |own, _| {
            // Another signer may have changed it since the decision.
            if own.target.since == since && !own.paused {
                own.released = own.released.max(places).min(END);
            }
            Ok(())
        })
        .await
    }
}

fn find<'a>(current: &'a Current, to: &Selector) -> Option<&'a crate::revision::Assignment> {
    current.revision.assignments.iter().find(|a| a.to == *to)
}

//! Releases a rollout's waves, as its hosts report that they keep the policy.

use std::{collections::BTreeSet, time::Duration};

use async_nats::jetstream::kv;
use futures_util::StreamExt;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Current, Error, Operator, READ, Roster};
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
    pub fn new(members: &[Member], released: u64) -> Self {
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
    /// A wave failed: all hosts roll back.
    Halted(Progress, String),
    /// Another signer pushed, or took it back.
    Superseded(u64),
}

/// The reports of all hosts, as they come.
pub struct Reports {
    watch: kv::Watch,
    roster: Roster,
    /// The last report when this began.
    last: Option<u64>,
    heard: u64,
    began: Instant,
}

impl Reports {
    /// All hosts. `None` until the reports that the engine has have been read: hosts would seem to
    /// be missing. Those that did not come in a minute are.
    pub fn roster(&self) -> Option<&Roster> {
        let is_caught_up = self.last.is_none_or(|last| self.heard >= last);
        (is_caught_up || self.began.elapsed() >= READ).then_some(&self.roster)
    }
}

/// A rollout that this signer drives.
pub struct Rollout {
    to: Selector,
    since: u64,
    pushed_s: i64,
    wave: u32,
    released_at: Instant,
    looked_at: Instant,
    current: Current,
}

impl Rollout {
    /// The revision that brought what is rolled out.
    pub const fn since(&self) -> u64 {
        self.since
    }

    /// The wave that has it last; the canaries are the first.
    pub const fn wave(&self) -> u32 {
        self.wave
    }
}

/// How far a rollout is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It goes on, or is paused.
    Going(Progress, bool),
    /// It is over.
    Ended(Ended),
}

impl Operator {
    /// Begins to listen to reports.
    pub async fn reports(&self) -> Result<Reports, Error> {
        let last = self.engine.last_report().await?;
        let watch = self.engine.hosts().watch_with_history(">").await;
        Ok(Reports {
            watch: watch.map_err(EngineError::new)?,
            roster: Roster::default(),
            last,
            heard: 0,
            began: Instant::now(),
        })
    }

    /// Waits for the next report. Nothing is lost if this is given up.
    pub async fn hear(&mut self, reports: &mut Reports) -> Result<(), Error> {
        let lost = || EngineError("the engine stopped reporting on its hosts".to_owned());
        let entry = reports.watch.next().await;
        let entry = entry.ok_or_else(lost)?.map_err(EngineError::new)?;
        reports.heard = reports.heard.max(entry.revision);
        match entry.operation {
            kv::Operation::Put => reports.roster.take(&entry, &self.fleet, &mut self.memory),
            _ => reports.roster.forget(&entry.key),
        }
        Ok(())
    }

    /// Takes a rollout over, from the push or wherever another signer left it.
    pub async fn take_over(&mut self, to: &Selector) -> Result<Rollout, Error> {
        let current = self.current().await?;
        let since = match find(&current, to) {
            Some(own) => own.target.since,
            None => return Err(Error::NotAssigned(to.clone())),
        };
        // Hosts that were there at the push are waited for, also by a signer that came later.
        let history = self.history().await?;
        let pushed = history.iter().find(|at| at.revision.number == since);
        let own = history.iter().filter_map(|at| find(at, to));
        let own = own.filter(|own| own.target.since == since);
        let waves: BTreeSet<u64> = own.map(|own| own.released).collect();
        Ok(Rollout {
            to: to.clone(),
            since,
            pushed_s: pushed.map_or(current.at_s, |pushed| pushed.at_s),
            wave: u32::try_from(waves.len()).unwrap_or(u32::MAX),
            released_at: Instant::now(),
            looked_at: Instant::now(),
            current,
        })
    }

    /// Decides once, by the reports that came: releases a wave, or takes back.
    pub async fn step(&mut self, rollout: &mut Rollout, roster: &Roster) -> Result<Stage, Error> {
        if rollout.looked_at.elapsed() >= LOOK {
            rollout.looked_at = Instant::now();
            rollout.current = self.current().await?;
        }
        let (to, since) = (&rollout.to, rollout.since);
        let revision = &rollout.current.revision;
        let own = find(&rollout.current, to).filter(|own| own.target.since == since);
        let Some(own) = own.cloned() else {
            return Ok(Stage::Ended(Ended::Superseded(revision.number)));
        };
        let members = roster.members(revision, &own, rollout.pushed_s);
        let progress = Progress::new(&members, own.released);
        match decide(&own, &members, rollout.released_at.elapsed()) {
            Decision::Wait => Ok(Stage::Going(progress, own.paused)),
            Decision::Done => Ok(Stage::Ended(Ended::Done(progress))),
            Decision::Release(places) => {
                rollout.current = self.release(to, since, places).await?;
                rollout.released_at = Instant::now();
                rollout.wave += 1;
                Ok(Stage::Going(progress, own.paused))
            }
            Decision::Halt(why) => {
                rollout.current = self.halt(to, since, &why).await?;
                Ok(Stage::Ended(Ended::Halted(progress, why)))
            }
        }
    }

    /// Keeps what it knows of hosts, over restarts.
    pub fn remember(&self) -> Result<(), Error> {
        Ok(self.memory.save()?)
    }

    /// Goes on with a rollout until it ends, and tells what changes.
    pub async fn drive(
        &mut self,
        to: &Selector,
        mut tell: impl FnMut(&Progress, bool),
    ) -> Result<Ended, Error> {
        let mut rollout = self.take_over(to).await?;
        let mut reports = self.reports().await?;
        let mut told = None;
        let mut ticks = interval(DECIDE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                heard = self.hear(&mut reports) => {
                    heard?;
                    continue;
                }
                _ = ticks.tick() => {}
            }
            let Some(roster) = reports.roster() else {
                continue;
            };
            match self.step(&mut rollout, roster).await {
                // The engine may be gone for a while: hosts go on, and so does this.
                Err(Error::Engine(_)) => {}
                Err(error) => return Err(error),
                Ok(Stage::Going(progress, paused)) => {
                    if told != Some((progress, paused)) {
                        told = Some((progress, paused));
                        tell(&progress, paused);
                    }
                }
                Ok(Stage::Ended(ended)) => {
                    if let Ended::Done(progress) | Ended::Halted(progress, _) = &ended {
                        if told.is_none_or(|(told, _)| told != *progress) {
                            tell(progress, false);
                        }
                        self.remember()?;
                    }
                    return Ok(ended);
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

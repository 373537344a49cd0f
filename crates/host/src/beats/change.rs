//! From the present tasks to others: prepared invisibly, put in force with one call, and undone
//! if that or another part of the policy fails.

use serde::Serialize;
use takt_planner::beats::Timetable;

use super::{
    displaced::{Displaced, Displacement, remember},
    found::refuse_other_scheduler,
    ids::Numbers,
    image::Image,
    record::BeatsRecord,
    refusal::Refusal,
    roster::{Roster, shown_name},
    scheduler::{FIRST_GENERATION, Scheduler},
    standing::{Settled, beside, settle},
};
use crate::{
    beats::{kernel_threads, softirq},
    error::Error,
};

/// What was done to the beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BeatsAction {
    /// The scheduler was loaded, and schedules every ordinary thread.
    Loaded,
    /// It runs with new tables.
    Updated,
    /// Its tables are as they were; stopped groups may run again.
    Unchanged,
    /// Every thread is scheduled by the kernel's own scheduler again.
    Unloaded,
}

/// Why a task has other slots than before.
const MADE_ROOM: &str = "its slots are the policy's, whose tasks come first";

/// Why an ad hoc task ends.
const OF_ANOTHER_VERSION: &str =
    "it joined the scheduler of another version of takt, and may join again";

/// Tasks, decided and not in force yet.
pub(crate) struct Change {
    action: Option<BeatsAction>,
    scheduler: Option<Scheduler>,
    before: Option<BeatsRecord>,
    next: Option<(Box<Image>, BeatsRecord)>,
    /// The remains of a scheduler that the kernel ended have to be removed.
    clears: bool,
    displaced: Vec<Displaced>,
}

impl Change {
    /// From the present state to this roster. Ad hoc tasks make room if necessary.
    pub fn to(
        mut next: Roster,
        scheduler: Option<Scheduler>,
        before: Option<BeatsRecord>,
    ) -> Result<Self, Refusal> {
        if next.is_empty() {
            return Ok(Self::end(scheduler, before));
        }
        let mut away = next.let_go_without_numbers(before.as_ref());
        let settled = settle(&next.host()?, &next, before.as_ref()).map_err(Refusal::NoTime)?;
        let Settled {
            timetable, moved, ..
        } = settled;
        away.extend(
            settled
                .away
                .into_iter()
                .map(|(task, why)| (task, why.to_string())),
        );
        let moved = moved.into_iter().map(|task| (task, MADE_ROOM.to_owned()));
        let displaced = [
            (Displacement::Moved, moved.collect()),
            (Displacement::SentAway, away),
        ];
        let displaced = tell(displaced, scheduler.as_ref(), before.as_ref())?;
        next = next.without(|task| {
            let gone = displaced
                .iter()
                .filter(|gone| gone.outcome == Displacement::SentAway);
            gone.map(|gone| &gone.key).any(|key| key == task)
        });
        if next.is_empty() {
            return Ok(Self {
                displaced,
                ..Self::end(scheduler, before)
            });
        }
        let policy = next.source.as_ref().map(|source| source.name.clone());
        remember(&mut next.sent_away, &displaced, policy.as_deref());
        let change = Self::between(next, &timetable, scheduler, before)?;
        Ok(Self {
            displaced,
            ..change
        })
    }

    /// From the scheduler of another version, whose tables cannot be read, to a new one: the
    /// policy's tasks keep their slots where they can, and ad hoc tasks end.
    pub fn in_the_place_of(next: Roster, before: Option<BeatsRecord>) -> Result<Self, Refusal> {
        let ad_hoc = before.iter().flat_map(|before| &before.roster.ad_hoc);
        let displaced = ad_hoc.map(|(key, user)| Displaced {
            task: shown_name(key).to_owned(),
            user: *user,
            threads: Vec::new(),
            outcome: Displacement::SentAway,
            reason: OF_ANOTHER_VERSION.to_owned(),
            key: key.clone(),
        });
        let displaced = displaced.collect();
        let change = if next.is_empty() {
            Self {
                action: Some(BeatsAction::Unloaded),
                ..Self::nothing(None, None)
            }
        } else {
            Self::to(next, None, before)?
        };
        Ok(Self {
            displaced,
            ..change
        })
    }

    /// From the present state to the same with one more ad hoc task.
    pub fn beside(
        next: Roster,
        comes: &str,
        scheduler: Option<Scheduler>,
        before: Option<BeatsRecord>,
    ) -> Result<Self, Refusal> {
        let timetable = beside(&next.host()?, &next, before.as_ref(), comes);
        let timetable = timetable.map_err(Refusal::NoTime)?;
        Self::between(next, &timetable, scheduler, before)
    }

    fn end(scheduler: Option<Scheduler>, before: Option<BeatsRecord>) -> Self {
        let action = scheduler.is_some().then_some(BeatsAction::Unloaded);
        Self {
            action,
            ..Self::nothing(scheduler, before)
        }
    }

    fn between(
        next: Roster,
        timetable: &Timetable,
        scheduler: Option<Scheduler>,
        before: Option<BeatsRecord>,
    ) -> Result<Self, Refusal> {
        let generation = match &scheduler {
            Some(scheduler) => scheduler.generation()? + 1,
            None => FIRST_GENERATION,
        };
        let (image, record) = next.lay_out(timetable, before.as_ref(), generation);
        let is_same = |before: &BeatsRecord| {
            let generation = before.generation;
            *before
                == BeatsRecord {
                    generation,
                    ..record.clone()
                }
        };
        let action = match (&scheduler, before.as_ref().is_some_and(is_same)) {
            (Some(_), true) => BeatsAction::Unchanged,
            (Some(_), false) => BeatsAction::Updated,
            (None, _) => BeatsAction::Loaded,
        };
        Ok(Self {
            action: Some(action),
            scheduler,
            before,
            next: Some((Box::new(image), record)),
            clears: false,
            displaced: Vec::new(),
        })
    }

    pub(super) fn nothing(scheduler: Option<Scheduler>, before: Option<BeatsRecord>) -> Self {
        Self {
            action: None,
            scheduler,
            before,
            next: None,
            clears: false,
            displaced: Vec::new(),
        }
    }

    /// The same, after removing what is left of a scheduler that the kernel ended.
    pub(super) fn after_an_end(self) -> Self {
        Self {
            action: self.action.or(Some(BeatsAction::Unloaded)),
            clears: true,
            ..self
        }
    }

    /// Ad hoc tasks that make room.
    pub fn displaced(&self) -> &[Displaced] {
        &self.displaced
    }

    pub fn action(&self) -> Option<BeatsAction> {
        self.action
    }

    /// All of it, without other parts to wait for.
    pub fn make(&self) -> Result<(), Error> {
        self.prepare()
            .and_then(|()| self.commit())
            .map_err(|error| error.after(self.undo().err()))?;
        self.tidy()
    }

    /// Changes nothing, but checks that what would be loaded does load.
    pub fn verify(&self) -> Result<(), Error> {
        match self.action {
            Some(BeatsAction::Loaded) => {
                refuse_other_scheduler()?;
                Scheduler::verify()
            }
            _ => Ok(()),
        }
    }

    /// The invisible work.
    pub fn prepare(&self) -> Result<(), Error> {
        let Some((image, record)) = &self.next else {
            return Ok(());
        };
        match (self.action, &self.scheduler) {
            (Some(BeatsAction::Loaded), _) => {
                refuse_other_scheduler()?;
                if self.clears {
                    unload()?;
                }
                record.write()
            }
            (Some(BeatsAction::Updated), Some(scheduler)) => {
                scheduler.stage(image, record.generation)?;
                record.write()
            }
            _ => Ok(()),
        }
    }

    /// The visible change, which affects every thread.
    pub fn commit(&self) -> Result<(), Error> {
        match (self.action, &self.scheduler, &self.next) {
            (Some(BeatsAction::Loaded), _, Some((image, _))) => {
                Scheduler::load(image)?;
                kernel_threads::raise()?;
            }
            (Some(BeatsAction::Updated), Some(scheduler), Some((_, record))) => {
                scheduler.commit(record.generation)?;
                scheduler.recognise_all()?;
            }
            // Stopped groups may run again, and threads that found a reservation taken may get
            // it.
            (Some(BeatsAction::Unchanged), Some(scheduler), _) => {
                scheduler.commit(scheduler.generation()?)?;
                scheduler.recognise_all()?;
            }
            _ => {}
        }
        match &self.next {
            Some((_, record)) => softirq::set(&record.roster.beats),
            None => Ok(()),
        }
    }

    /// This or another part of the policy failed: restore the state before [`Self::prepare`].
    pub fn undo(&self) -> Result<(), Error> {
        match (self.action, &self.scheduler) {
            (Some(BeatsAction::Loaded), _) => unload(),
            (Some(BeatsAction::Updated), Some(scheduler)) => {
                let (Some(before), Some((_, next))) = (&self.before, &self.next) else {
                    return Ok(());
                };
                let in_force = scheduler.generation()?;
                if in_force != next.generation {
                    return before.sweep();
                }
                // The previous tables are still in the other half.
                let generation = in_force + 1;
                let record = BeatsRecord {
                    generation,
                    ..before.clone()
                };
                record.write()?;
                scheduler.commit(generation)?;
                softirq::set(&record.roster.beats)?;
                record.sweep()
            }
            _ => Ok(()),
        }
    }

    /// Remove what the new state no longer needs.
    pub fn tidy(&self) -> Result<(), Error> {
        match (self.action, &self.scheduler, &self.next) {
            // A takt that was killed before it loaded the scheduler has left a record.
            (Some(BeatsAction::Unloaded), ..) | (None, None, None) => unload(),
            (Some(BeatsAction::Loaded), _, Some((_, record))) => record.sweep(),
            (Some(BeatsAction::Updated), Some(scheduler), Some((_, record))) => {
                if let Some(before) = &self.before {
                    let gone = record.ids.gone(&before.ids);
                    scheduler.vacate(gone.flat_map(Numbers::indices))?;
                }
                record.sweep()
            }
            _ => Ok(()),
        }
    }
}

/// With the threads that hold reservations.
fn tell(
    displaced: [(Displacement, Vec<(String, String)>); 2],
    scheduler: Option<&Scheduler>,
    before: Option<&BeatsRecord>,
) -> Result<Vec<Displaced>, Error> {
    let mut told = Vec::new();
    for (outcome, tasks) in displaced {
        for (key, reason) in tasks {
            let mut threads = Vec::new();
            let numbers = before.and_then(|before| before.ids.0.get(&key));
            if let (Some(scheduler), Some(numbers)) = (scheduler, numbers) {
                for member in numbers.indices() {
                    threads.push(scheduler.member(member)?.tid);
                }
            }
            threads.retain(|tid| *tid != 0);
            let user = before.and_then(|before| before.roster.ad_hoc.get(&key));
            told.push(Displaced {
                task: shown_name(&key).to_owned(),
                user: user.copied().unwrap_or_default(),
                threads,
                outcome,
                reason,
                key,
            });
        }
    }
    Ok(told)
}

/// First remove what depends on the scheduler, while it is known what that is.
pub(super) fn unload() -> Result<(), Error> {
    softirq::restore()?;
    kernel_threads::restore()?;
    Scheduler::unload()?;
    BeatsRecord::forget_all()
}

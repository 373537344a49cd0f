//! What is said of an object: from the stage of its rollout to its status. Nothing here reads or
//! writes.

use takt_fleet::operator::{Ended, Progress, Rollout, Stage};

use crate::resource::{Condition, Counts, Phase, PolicyStatus};

const WHY_MAX_CHARS: usize = 1_000;

/// What became of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is not pushed.
    Refused(&'static str, String),
    /// It cannot be pushed or followed now.
    Waiting(String),
    /// It was pushed by this revision.
    Pushed(u64),
    /// How far its rollout is: the revision, the wave, and the stage.
    Stage(u64, u32, Stage),
}

impl Outcome {
    /// Of a rollout.
    pub fn new(rollout: &Rollout, stage: Stage) -> Self {
        Self::Stage(rollout.since(), rollout.wave(), stage)
    }
}

impl From<&Progress> for Counts {
    fn from(progress: &Progress) -> Self {
        Self {
            all: progress.hosts,
            released: progress.released,
            trying: progress.trying,
            kept: progress.kept,
            failed: progress.failed,
            absent: progress.absent,
        }
    }
}

/// The status after an outcome. Times of conditions change with their status only, so that a status
/// that says the same is the same.
pub fn after(
    before: &PolicyStatus,
    generation: i64,
    content: &str,
    outcome: &Outcome,
    now: &str,
) -> PolicyStatus {
    let mut next = PolicyStatus {
        observed_generation: generation,
        why: String::new(),
        ..before.clone()
    };
    let mut accepted = ("True", "Valid", String::new());
    let reason = match outcome {
        Outcome::Refused(reason, why) => {
            next.phase = Phase::Refused;
            accepted = ("False", *reason, cut(why));
            next.why = cut(why);
            "Refused"
        }
        Outcome::Waiting(why) => {
            // What is over stays so while the engine is away.
            if !matches!(before.phase, Phase::Complete | Phase::TakenBack) {
                next.phase = Phase::Waiting;
            }
            next.why = cut(why);
            "Waiting"
        }
        Outcome::Pushed(since) => {
            next.phase = Phase::RollingOut;
            next.content = content.to_owned();
            next.revision = *since;
            next.wave = 1;
            next.hosts = Counts::default();
            "RollingOut"
        }
        Outcome::Stage(since, wave, stage) => {
            next.content = content.to_owned();
            next.revision = *since;
            next.wave = *wave;
            staged(&mut next, stage)
        }
    };
    let is_complete = next.phase == Phase::Complete;
    let complete = if is_complete { "True" } else { "False" };
    let why = next.why.clone();
    let conditions = [
        ("Accepted", accepted.0, accepted.1, accepted.2),
        ("Complete", complete, reason, why),
    ];
    next.conditions = conditions
        .into_iter()
        .map(|(name, status, reason, message)| {
            let earlier = before.conditions.iter().find(|own| own.r#type == name);
            let same = earlier.filter(|own| own.status == status);
            Condition {
                r#type: name.to_owned(),
                status: status.to_owned(),
                reason: reason.to_owned(),
                message,
                last_transition_time: same
                    .map_or(now, |own| own.last_transition_time.as_str())
                    .to_owned(),
                observed_generation: generation,
            }
        })
        .collect();
    next
}

fn staged(next: &mut PolicyStatus, stage: &Stage) -> &'static str {
    match stage {
        Stage::Going(progress, paused) => {
            next.hosts = progress.into();
            next.phase = if *paused {
                Phase::Paused
            } else {
                Phase::RollingOut
            };
            if *paused { "Paused" } else { "RollingOut" }
        }
        Stage::Ended(Ended::Done(progress)) => {
            next.hosts = progress.into();
            next.phase = Phase::Complete;
            "Kept"
        }
        Stage::Ended(Ended::Halted(progress, why)) => {
            next.hosts = progress.into();
            next.phase = Phase::TakenBack;
            next.why = cut(why);
            "TakenBack"
        }
        Stage::Ended(Ended::Superseded(number)) => {
            next.phase = Phase::Superseded;
            next.why = format!(
                "revision {number} by another signer replaces it; a change of this object is \
                 pushed again"
            );
            "Superseded"
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(WHY_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRESS: Progress = Progress {
        hosts: 40,
        released: 12,
        trying: 3,
        kept: 9,
        failed: 0,
        absent: 1,
    };

    fn staged(before: &PolicyStatus, stage: Stage, now: &str) -> PolicyStatus {
        after(before, 2, "c", &Outcome::Stage(7, 3, stage), now)
    }

    fn condition<'a>(status: &'a PolicyStatus, name: &str) -> (&'a str, &'a str, &'a str) {
        let own = status.conditions.iter().find(|own| own.r#type == name);
        let own = own.unwrap();
        (&own.status, &own.reason, &own.last_transition_time)
    }

    #[test]
    fn a_rollout_from_its_push_to_its_end() {
        let pushed = after(&PolicyStatus::default(), 2, "c", &Outcome::Pushed(7), "t1");
        assert_eq!(
            (pushed.phase, pushed.revision, pushed.wave),
            (Phase::RollingOut, 7, 1)
        );
        assert_eq!(
            condition(&pushed, "Complete"),
            ("False", "RollingOut", "t1")
        );

        let going = staged(&pushed, Stage::Going(PROGRESS, false), "t2");
        assert_eq!((going.hosts.kept, going.hosts.all, going.wave), (9, 40, 3));
        // Said again, nothing changes: no write.
        assert_eq!(staged(&going, Stage::Going(PROGRESS, false), "t3"), going);
        let paused = staged(&going, Stage::Going(PROGRESS, true), "t3");
        assert_eq!(paused.phase, Phase::Paused);
        assert_eq!(condition(&paused, "Complete"), ("False", "Paused", "t1"));

        let done = staged(&going, Stage::Ended(Ended::Done(PROGRESS)), "t4");
        assert_eq!(done.phase, Phase::Complete);
        assert_eq!(condition(&done, "Complete"), ("True", "Kept", "t4"));
        assert_eq!(condition(&done, "Accepted"), ("True", "Valid", "t1"));
        // The engine is away for a while.
        let away = after(&done, 2, "c", &Outcome::Waiting("gone".to_owned()), "t5");
        assert_eq!((away.phase, away.why.as_str()), (Phase::Complete, "gone"));
        assert_eq!(condition(&away, "Complete").0, "True");
    }

    #[test]
    fn what_is_taken_back_says_why() {
        let halted = Ended::Halted(PROGRESS, "1 of 2 hosts failed".to_owned());
        let status = staged(&PolicyStatus::default(), Stage::Ended(halted), "t1");
        assert_eq!(status.phase, Phase::TakenBack);
        assert_eq!(status.why, "1 of 2 hosts failed");
        assert_eq!(condition(&status, "Complete"), ("False", "TakenBack", "t1"));
    }

    #[test]
    fn a_refusal_forgets_nothing_of_what_the_hosts_have() {
        let done = staged(
            &PolicyStatus::default(),
            Stage::Ended(Ended::Done(PROGRESS)),
            "t1",
        );
        let outcome = Outcome::Refused("Invalid", "spec.policy: wrong".to_owned());
        let refused = after(&done, 3, "d", &outcome, "t2");
        assert_eq!((refused.phase, refused.revision), (Phase::Refused, 7));
        assert_eq!((refused.content.as_str(), refused.hosts.kept), ("c", 9));
        assert_eq!(condition(&refused, "Accepted"), ("False", "Invalid", "t2"));
    }
}

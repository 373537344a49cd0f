//! When the next wave begins: decisions of the signer, without input or output.
//!
//! Reports are only evidence. A missing or bad one stops a rollout, and nothing that a host says
//! can release more than the plan's next step.

use std::time::Duration;

use crate::{
    place::{END, below},
    revision::Assignment,
};

/// A host that the assignment is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its identity.
    pub id: String,
    /// Its place in this rollout.
    pub place: u64,
    /// It was heard of shortly before its wave was released, or later.
    pub is_present: bool,
    /// How far it is.
    pub state: State,
}

/// How far a host is with the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not begun, as far as is known.
    Waiting,
    /// On trial.
    Trying,
    /// In force.
    Kept,
    /// Taken back, and why.
    Failed(String),
}

/// What the signer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing yet.
    Wait,
    /// Places below this may have the target.
    Release(u64),
    /// All hosts go back.
    Halt(String),
    /// All hosts that are there have it.
    Done,
}

/// Hosts that a message names.
const NAMED_MAX: usize = 3;

/// Decides, this long after the last release or after the signer took the rollout over.
pub fn decide(assignment: &Assignment, members: &[Member], waited: Duration) -> Decision {
    let plan = assignment.plan;
    let is_released = |member: &&Member| member.place < assignment.released;
    let wave: Vec<&Member> = members
        .iter()
        .filter(is_released)
        .filter(|member| member.is_present)
        .collect();
    let patience = Duration::from_millis(assignment.target.hold_ms.saturating_add(plan.grace_ms));
    let is_late = waited >= patience;
    let is_lost = |member: &&&Member| match &member.state {
        State::Failed(_) => true,
        State::Waiting | State::Trying => is_late,
        State::Kept => false,
    };
    let lost: Vec<&&Member> = wave.iter().filter(is_lost).collect();
    let tolerated = wave.len() as u64 * u64::from(plan.tolerated_ppm) / 1_000_000;
    if lost.len() as u64 > tolerated {
        return Decision::Halt(describe(&lost, wave.len()));
    }
    let kept = wave
        .iter()
        .filter(|member| member.state == State::Kept)
        .count();
    if kept + lost.len() < wave.len() || assignment.paused {
        return Decision::Wait;
    }
    if assignment.is_complete() {
        return Decision::Done;
    }
    if kept == 0 {
        // No host has tried it: that is no reason to go on.
        return if is_late {
            Decision::Halt("no host of the wave is there".to_owned())
        } else {
            Decision::Wait
        };
    }
    let all = members.len().max(1) as u64;
    let released = members.iter().filter(is_released).count() as u64;
    let share_ppm = (released * 1_000_000 / all) as u32;
    let mut places: Vec<u64> = members.iter().map(|member| member.place).collect();
    let next = below(&mut places, share_ppm.saturating_add(plan.step_ppm));
    // The last host's place is not the end: hosts that are not known come after it.
    let last = places.last().is_some_and(|last| next > *last);
    Decision::Release(if last {
        END
    } else {
        next.max(assignment.released + 1)
    })
}

fn describe(lost: &[&&Member], wave: usize) -> String {
    let named = lost
        .iter()
        .take(NAMED_MAX)
        .map(|member| match &member.state {
            State::Failed(why) => format!("{}: {why}", member.id),
            State::Waiting => format!("{}: did not start in time", member.id),
            State::Trying => format!("{}: stopped reporting during its trial", member.id),
            State::Kept => member.id.clone(),
        });
    let named = named.collect::<Vec<_>>().join("; ");
    let more = match lost.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("{} of {wave} hosts failed: {named}{more}", lost.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        health::Health,
        place::place,
        revision::{Content, Plan},
        selector::Selector,
    };

    fn assignment(canary_ppm: u32, step_ppm: u32) -> Assignment {
        Assignment {
            to: Selector::ALL,
            target: Content {
                since: 2,
                policy: None,
                hold_ms: 1_000,
                health: Health::sound(),
            },
            before: None,
            salt: "salt".to_owned(),
            released: 0,
            paused: false,
            plan: Plan {
                canary_ppm,
                step_ppm,
                grace_ms: 1_000,
                tolerated_ppm: 0,
            },
        }
    }

    fn members(count: usize) -> Vec<Member> {
        (0..count)
            .map(|host| {
                let id = format!("host-{host}");
                Member {
                    place: place("salt", &id),
                    id,
                    is_present: true,
                    state: State::Waiting,
                }
            })
            .collect()
    }

    fn released(assignment: &Assignment, members: &[Member]) -> usize {
        let released = members.iter().filter(|m| m.place < assignment.released);
        released.count()
    }

    const SOON: Duration = Duration::ZERO;
    const LATE: Duration = Duration::from_secs(2);

    proptest! {
        /// If every host keeps it, waves have the plan's sizes and all hosts get it.
        #[test]
        fn a_good_policy_reaches_everybody(
            hosts in 1usize..300,
            canary_ppm in 1u32..=1_000_000,
            step_ppm in 1_000u32..=1_000_000,
        ) {
            let mut members = members(hosts);
            let mut assignment = assignment(canary_ppm, step_ppm);
            let mut places: Vec<u64> = members.iter().map(|m| m.place).collect();
            assignment.released = below(&mut places, canary_ppm);
            for _ in 0..2_000 {
                let before = released(&assignment, &members);
                for member in members.iter_mut().filter(|m| m.place < assignment.released) {
                    member.state = State::Kept;
                }
                match decide(&assignment, &members, SOON) {
                    Decision::Release(end) => {
                        prop_assert!(end > assignment.released);
                        assignment.released = end;
                        let step = (hosts as u64 * u64::from(step_ppm)).div_ceil(1_000_000) + 1;
                        let more = released(&assignment, &members) - before;
                        prop_assert!(more as u64 <= step, "{more} of {hosts}, step {step}");
                    }
                    Decision::Done => {
                        prop_assert!(members.iter().all(|m| m.state == State::Kept));
                        return Ok(());
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
            }
            prop_assert!(false, "it does not end");
        }

        /// Whatever the hosts say, and however long it takes: nothing more is released while a host
        /// of the wave that is there has not kept the policy.
        #[test]
        fn a_wave_waits_for_all_of_it(
            states in prop::collection::vec((0u8..4, any::<bool>()), 2..100),
            canary_ppm in 1u32..=999_999,
            late: bool,
        ) {
            let mut members = members(states.len());
            for (member, (state, is_present)) in members.iter_mut().zip(&states) {
                member.is_present = *is_present;
                member.state = match state {
                    0 => State::Waiting,
                    1 => State::Trying,
                    2 => State::Kept,
                    _ => State::Failed("ill".to_owned()),
                };
            }
            let mut assignment = assignment(canary_ppm, 250_000);
            let mut places: Vec<u64> = members.iter().map(|m| m.place).collect();
            assignment.released = below(&mut places, canary_ppm);
            let wave = members.iter().filter(|m| m.place < assignment.released && m.is_present);
            let (kept, rest): (Vec<_>, Vec<_>) = wave.partition(|m| m.state == State::Kept);
            let decision = decide(&assignment, &members, if late { LATE } else { SOON });
            let has_failed = rest.iter().any(|m| matches!(m.state, State::Failed(_)));
            match decision {
                Decision::Release(_) => prop_assert!(rest.is_empty() && !kept.is_empty()),
                Decision::Done => prop_assert!(rest.is_empty() && assignment.is_complete()),
                Decision::Halt(_) => prop_assert!(late || has_failed),
                Decision::Wait => prop_assert!(!has_failed && !late),
            }
        }
    }

    #[test]
    fn some_losses_may_be_tolerated() {
        let mut members = members(100);
        let mut assignment = assignment(1_000_000, 250_000);
        assignment.released = END;
        assignment.plan.tolerated_ppm = 20_000;
        for (at, member) in members.iter_mut().enumerate() {
            member.state = match at {
                0 => State::Failed("ill".to_owned()),
                1 => State::Trying,
                _ => State::Kept,
            };
        }
        assert_eq!(decide(&assignment, &members, SOON), Decision::Wait);
        assert_eq!(decide(&assignment, &members, LATE), Decision::Done);
        members[2].state = State::Waiting;
        let halted = decide(&assignment, &members, LATE);
        assert!(matches!(halted, Decision::Halt(why) if why.starts_with("3 of 100 hosts")));
    }

    #[test]
    fn a_pause_releases_nothing_and_still_halts() {
        let mut members = members(10);
        let mut assignment = assignment(500_000, 500_000);
        assignment.released = END / 2;
        assignment.paused = true;
        for member in &mut members {
            member.state = State::Kept;
        }
        assert_eq!(decide(&assignment, &members, LATE), Decision::Wait);
        assignment.released = END;
        members[0].state = State::Failed("ill".to_owned());
        assert!(matches!(
            decide(&assignment, &members, SOON),
            Decision::Halt(_)
        ));
    }
}

//! A waiting policy, as status shows it.

use std::fmt::{self, Display};

use serde::Serialize;

use super::{journal::Journal, process::Admin, stage::Stage};

/// A policy that was applied with `--confirm` and not decided yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PendingStatus {
    /// Who applied it.
    pub by: Admin,
    /// The name of its file.
    pub policy: String,
    /// The policy that is restored if it is not confirmed; `None`: none.
    pub before: Option<String>,
    /// Its stage.
    pub state: PendingState,
    /// Since it was begun.
    pub age_s: u64,
    /// Until it is taken back.
    pub left_s: u64,
    /// Whether the takt that applied it runs.
    pub takt_running: bool,
    /// Whether the guard runs, which takes it back if that takt does not.
    pub guard_running: bool,
    /// What is wrong, if anything is, and what to do about it.
    pub problem: Option<String>,
}

/// The stage of a waiting policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingState {
    /// It is not in force yet.
    Applying,
    /// It can be confirmed.
    Waiting,
    /// It was not confirmed in time.
    Expired,
    /// Taking it back failed.
    Failed,
}

const DECIDE: &str = "`takt confirm` keeps it, `takt cancel` reverts it";

impl PendingStatus {
    pub(super) fn new(journal: &Journal, now_ns: u64) -> Self {
        let stage = journal.stage(now_ns);
        let change = &journal.change;
        let (takt_running, guard_running) = (change.takt.runs(), change.guard.runs());
        let (state, left_ns) = match stage {
            Stage::Applying => (PendingState::Applying, 0),
            Stage::Waiting { left_ns } => (PendingState::Waiting, left_ns),
            Stage::Failed { .. } => (PendingState::Failed, 0),
            _ => (PendingState::Expired, 0),
        };
        let before = change.replaced.source.as_ref();
        Self {
            by: change.by.clone(),
            policy: change.policy.clone(),
            before: before.map(|source| source.name.clone()),
            state,
            age_s: now_ns.saturating_sub(change.begun_ns) / 1_000_000_000,
            left_s: left_ns.div_ceil(1_000_000_000),
            takt_running,
            guard_running,
            problem: problem(&stage, takt_running || guard_running),
        }
    }
}

fn problem(stage: &Stage, seen_to: bool) -> Option<String> {
    match (stage, seen_to) {
        (Stage::Failed { reason, .. }, _) => Some(format!(
            "putting back what was before failed: {reason}; `takt cancel` tries again, `takt revert` \
             takes all of takt away"
        )),
        (_, true) => None,
        (Stage::Waiting { .. }, false) => Some(format!(
            "takt and its guard were killed, so taktd takes it back at the end of its time, or the next takt: {DECIDE}"
        )),
        (_, false) => Some(
            "takt and its guard were killed before they took it back: `takt cancel` does, `takt revert` \
             takes all of takt away"
                .to_owned(),
        ),
    }
}

impl Display for PendingStatus {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self {
            by,
            policy,
            age_s,
            left_s,
            ..
        } = self;
        match self.state {
            PendingState::Applying => write!(f, "{by} applies {policy} with --confirm")?,
            PendingState::Waiting => write!(
                f,
                "{by} applied {policy} {age_s} s ago and must confirm it within {left_s} s"
            )?,
            PendingState::Expired | PendingState::Failed => write!(
                f,
                "{by} applied {policy} {age_s} s ago and did not confirm it in time"
            )?,
        }
        match (&self.problem, self.state) {
            (Some(problem), _) => write!(f, "; {problem}"),
            (None, PendingState::Waiting) => write!(f, "; {DECIDE}"),
            (None, _) => write!(f, "; wait until that is done"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::pending::journal::tests::root;

    fn status(stage: &Stage, seen_to: bool) -> PendingStatus {
        PendingStatus {
            by: root(),
            policy: "new.toml".to_owned(),
            before: None,
            state: match stage {
                Stage::Applying => PendingState::Applying,
                Stage::Waiting { .. } => PendingState::Waiting,
                Stage::Failed { .. } => PendingState::Failed,
                _ => PendingState::Expired,
            },
            age_s: 33,
            left_s: 87,
            takt_running: seen_to,
            guard_running: false,
            problem: problem(stage, seen_to),
        }
    }

    #[test]
    fn who_waits_for_how_long_and_what_decides_it() {
        let waiting = Stage::Waiting { left_ns: 1 };
        assert_eq!(
            status(&waiting, true).to_string(),
            "root (pid 812) applied new.toml 33 s ago and must confirm it within 87 s; `takt confirm` \
             keeps it, `takt cancel` reverts it"
        );
        assert!(
            status(&waiting, false)
                .to_string()
                .ends_with("; takt and its guard were killed, so taktd takes it back at the end of its time, or the next takt: `takt confirm` keeps it, `takt cancel` reverts it")
        );
    }

    #[test]
    fn what_is_overdue_says_what_mends_it() {
        let expired = Stage::Expired { since_ns: 1 };
        assert!(
            status(&expired, true)
                .to_string()
                .ends_with("did not confirm it in time; wait until that is done")
        );
        let failed = Stage::Failed {
            since_ns: 1,
            reason: "the lock is held".to_owned(),
        };
        for (stage, seen_to) in [(expired, false), (failed, true), (Stage::Applying, false)] {
            let said = status(&stage, seen_to).to_string();
            assert!(said.contains("`takt cancel`"), "{said}");
            assert!(said.contains("`takt revert`"), "{said}");
        }
    }
}

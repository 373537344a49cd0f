//! The stage of a policy on trial, and which process acts next.

use super::{
    journal::{Change, Event},
    process::Admin,
};

/// How long the guard gives a running takt to take the policy back.
const GRACE_NS: u64 = 2_000_000_000;
/// From a failure to restore the previous state to the guard's next attempt.
const RETRY_NS: u64 = 5_000_000_000;

/// The stage of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It is not in force yet, or was not when its takt died.
    Applying,
    /// It is in force, and waits to be confirmed.
    Waiting {
        /// Time left.
        left_ns: u64,
    },
    /// The time is over, and it has not been taken back.
    Expired {
        /// Since the time was over.
        since_ns: u64,
    },
    /// The previous state could not be restored.
    Failed {
        /// Since the last attempt.
        since_ns: u64,
        /// Why.
        reason: String,
    },
    /// It was confirmed.
    Kept {
        /// By which administrator.
        by: Admin,
    },
    /// It was taken back, and the previous state is restored.
    TakenBack {
        /// By which administrator or process.
        by: Admin,
        /// What was changed meanwhile, and left alone.
        left: Vec<String>,
    },
    /// It was decided, and there was no space to record the outcome.
    Gone,
}

/// Which of the two processes asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The takt that applied the policy.
    Takt,
    /// Its child.
    Guard {
        /// Whether that takt runs.
        takt_runs: bool,
    },
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Look again after this time, or at any event.
    Wait {
        /// At most.
        time_ns: u64,
    },
    /// Restore the previous state.
    TakeBack,
    /// Nothing, ever.
    End,
}

impl Stage {
    /// What the process is to do.
    pub fn turn(&self, role: Role) -> Turn {
        let grace_ns = match role {
            Role::Guard { takt_runs: true } => GRACE_NS,
            Role::Takt | Role::Guard { takt_runs: false } => 0,
        };
        match (self, role) {
            (Self::Kept { .. } | Self::TakenBack { .. } | Self::Gone, _)
            | (Self::Failed { .. }, Role::Takt) => Turn::End,
            (Self::Applying, Role::Guard { takt_runs: false }) => Turn::TakeBack,
            (Self::Applying, _) => Turn::Wait { time_ns: GRACE_NS },
            (Self::Waiting { left_ns }, _) => Turn::Wait {
                time_ns: left_ns.saturating_add(grace_ns),
            },
            (Self::Expired { since_ns }, _) => until(*since_ns, grace_ns),
            (Self::Failed { since_ns, .. }, Role::Guard { .. }) => until(*since_ns, RETRY_NS),
        }
    }

    /// Whether nothing is left to decide.
    pub fn is_decided(&self) -> bool {
        matches!(
            self,
            Self::Kept { .. } | Self::TakenBack { .. } | Self::Gone
        )
    }
}

fn until(since_ns: u64, time_ns: u64) -> Turn {
    match time_ns.saturating_sub(since_ns) {
        0 => Turn::TakeBack,
        time_ns => Turn::Wait { time_ns },
    }
}

impl Event {
    /// The stage at a time after this.
    pub fn stage(&self, change: &Change, now_ns: u64) -> Stage {
        match self {
            Self::Applied { at_ns, .. } => {
                let end_ns = at_ns.saturating_add(change.patience_ns);
                match end_ns.saturating_sub(now_ns) {
                    0 => Stage::Expired {
                        since_ns: now_ns - end_ns,
                    },
                    left_ns => Stage::Waiting { left_ns },
                }
            }
            Self::Failed { at_ns, reason } => Stage::Failed {
                since_ns: now_ns.saturating_sub(*at_ns),
                reason: reason.clone(),
            },
            Self::Kept { by } => Stage::Kept { by: by.clone() },
            Self::TakenBack { by, left } => Stage::TakenBack {
                by: by.clone(),
                left: left.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::pending::journal::tests::{change, root};

    const S: u64 = 1_000_000_000;
    const GUARD: Role = Role::Guard { takt_runs: true };
    const GUARD_ALONE: Role = Role::Guard { takt_runs: false };

    fn turns(stage: &Stage) -> [Turn; 3] {
        [Role::Takt, GUARD, GUARD_ALONE].map(|role| stage.turn(role))
    }

    fn wait(time_ns: u64) -> Turn {
        Turn::Wait { time_ns }
    }

    #[test]
    fn takt_takes_back_and_the_guard_when_takt_does_not() {
        let waiting = Stage::Waiting { left_ns: 3 * S };
        assert_eq!(turns(&waiting), [wait(3 * S), wait(5 * S), wait(3 * S)]);
        let expired = |since_ns| turns(&Stage::Expired { since_ns });
        assert_eq!(expired(0), [Turn::TakeBack, wait(2 * S), Turn::TakeBack]);
        assert_eq!(expired(2 * S), [Turn::TakeBack; 3]);
        assert_eq!(expired(u64::MAX), [Turn::TakeBack; 3]);
    }

    #[test]
    fn what_was_not_applied_to_its_end_is_taken_back_at_once() {
        assert_eq!(Stage::Applying.turn(GUARD_ALONE), Turn::TakeBack);
        assert_eq!(Stage::Applying.turn(GUARD), wait(2 * S));
    }

    #[test]
    fn the_guard_tries_again() {
        let failed = |since_ns| Stage::Failed {
            since_ns,
            reason: "the lock".to_owned(),
        };
        assert_eq!(turns(&failed(S)), [Turn::End, wait(4 * S), wait(4 * S)]);
        let now = [Turn::End, Turn::TakeBack, Turn::TakeBack];
        assert_eq!(turns(&failed(5 * S)), now);
    }

    #[test]
    fn what_is_decided_is_left_alone() {
        let left = Vec::new();
        for stage in [
            Stage::Kept { by: root() },
            Stage::TakenBack { by: root(), left },
            Stage::Gone,
        ] {
            assert!(stage.is_decided());
            assert_eq!(turns(&stage), [Turn::End; 3]);
        }
    }

    #[test]
    fn its_time_begins_when_it_is_in_force() {
        let change = change();
        let applied = Event::Applied {
            at_ns: 100 * S,
            congestion: "cubic".to_owned(),
        };
        let at = |now_ns| applied.stage(&change, now_ns);
        assert_eq!(at(100 * S), Stage::Waiting { left_ns: 120 * S });
        assert_eq!(at(220 * S - 1), Stage::Waiting { left_ns: 1 });
        assert_eq!(at(220 * S), Stage::Expired { since_ns: 0 });
        assert_eq!(at(221 * S), Stage::Expired { since_ns: S });
    }
}

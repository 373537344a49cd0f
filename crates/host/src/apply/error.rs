//! Why a policy on trial could not be confirmed or taken back.

use std::io;

use thiserror::Error;

use super::pending::PendingStatus;

/// A policy on trial (`--confirm`).
#[derive(Debug, Error)]
pub enum TrialError {
    /// A change was requested while a policy waits to be confirmed.
    #[error("{0}")]
    Pending(Box<PendingStatus>),
    /// A policy was to be confirmed or taken back, and none waits.
    #[error("no policy waits to be confirmed")]
    NothingPending,
    /// A policy was to be confirmed that is not in force, or not yet.
    #[error("{0}; it can no longer be confirmed")]
    NotConfirmable(Box<PendingStatus>),
    /// A waiting policy was to be taken back in another network namespace than its own.
    #[error(
        "{policy} was applied in another network namespace; `takt cancel` there takes it back, or \
         it goes at the end of its time"
    )]
    PendingElsewhere {
        /// The name of its file.
        policy: String,
    },
    /// A policy was not confirmed, and has been taken back.
    #[error("not confirmed: what was there before is restored{}", but_for(left))]
    NotConfirmed {
        /// What was changed meanwhile, and left alone.
        left: Vec<String>,
    },
    /// The state before a policy on trial could not be restored, or is unknown.
    #[error("what is in force could not be put back: {reason}")]
    NotRestorable {
        /// Why.
        reason: String,
    },
    /// The guard, which takes back what is not confirmed, did not start.
    #[error("starting the guard of --confirm: {source}; nothing was changed")]
    Guard {
        /// Why it failed.
        source: io::Error,
    },
}

fn but_for(left: &[String]) -> String {
    match left {
        [] => String::new(),
        left => format!(", but for what was changed meanwhile: {}", left.join("; ")),
    }
}

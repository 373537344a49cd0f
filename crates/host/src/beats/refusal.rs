//! Why tasks cannot have time slots on this host.

use thiserror::Error;

use crate::{beats::BeatsError, error::Error};

/// Tasks that this host cannot run.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    /// The CPUs have no room for all tasks, or one of them is not possible.
    #[error(transparent)]
    NoTime(takt_planner::beats::Refusal),
    /// The host is in the way, or failed.
    #[error(transparent)]
    Host(#[from] Error),
}

impl Refusal {
    /// Only tasks were removed, so what is left fitted before.
    pub fn without_new_tasks(self) -> Error {
        match self {
            Self::Host(error) => error,
            Self::NoTime(refusal) => BeatsError::NoPlan {
                reason: refusal.to_string(),
            }
            .into(),
        }
    }
}

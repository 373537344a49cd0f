//! How takt-fleet ends, as scripts see it. The codes are takt's.

use std::process::ExitCode;

use takt_fleet::{check::Unfit, operator::Error};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// Something failed, or a rollout was halted.
    Failed = 1,
    /// The policy or the arguments are wrong.
    Invalid = 2,
    /// A kernel of the fleet could not carry the policy out.
    Lacking = 3,
    /// Others changed what this would have changed.
    Changed = 4,
    /// The engine or a host is not there, which may change.
    Absent = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&Error> for Exit {
    fn from(error: &Error) -> Self {
        match error {
            Error::Engine(_) | Error::NoHosts(_) => Self::Absent,
            Error::Untrusted(_) | Error::Older { .. } | Error::Busy => Self::Changed,
            Error::NoKey
            | Error::NoPins
            | Error::NotAssigned(_)
            | Error::Ambiguous(_)
            | Error::NoEarlier(_)
            | Error::Unsound(_) => Self::Invalid,
            Error::Files(_) => Self::Failed,
        }
    }
}

impl From<&Unfit> for Exit {
    fn from(unfit: &Unfit) -> Self {
        match unfit.code {
            Some(2) => Self::Invalid,
            Some(3) => Self::Lacking,
            _ => Self::Failed,
        }
    }
}

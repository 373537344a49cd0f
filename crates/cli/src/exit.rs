//! takt's exit codes.

use std::process::ExitCode;

use takt_daemon::{AskError, Code};
use takt_host::{Error, NoUser, Undecided, places::JoinError};

/// The documented exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// An unexpected failure.
    Failed = 1,
    /// The policy or the arguments are wrong.
    Invalid = 2,
    /// The kernel or the caller's privileges are insufficient.
    Lacking = 3,
    /// Another program or administrator changed the host.
    Changed = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&Error> for Exit {
    fn from(error: &Error) -> Self {
        match error {
            Error::KernelLacks { .. }
            | Error::Capability { .. }
            | Error::Barred(_)
            | Error::TooManyFiles { .. }
            | Error::NoBpffs { .. }
            | Error::OpenBpffs { .. }
            | Error::NoCgroup2
            | Error::NoIfb
            | Error::NoIngress { .. } => Self::Lacking,
            Error::Foreign(_)
            | Error::OtherScheduler { .. }
            | Error::BeatsElsewhere { .. }
            | Error::BeatsEnded { .. }
            | Error::NoCrowd
            | Error::Pending(_)
            | Error::PendingElsewhere { .. } => Self::Changed,
            Error::NotConfirmed { left } if !left.is_empty() => Self::Changed,
            Error::NoStations { .. } => Self::Invalid,
            _ => Self::Failed,
        }
    }
}

impl From<&Undecided> for Exit {
    fn from(error: &Undecided) -> Self {
        match error {
            Undecided::NoDevice { .. }
            | Undecided::Plan { .. }
            | Undecided::NoGap { .. }
            | Undecided::NoReceive { .. }
            | Undecided::NoTime(_) => Self::Invalid,
            Undecided::NoUser(error) => error.into(),
            Undecided::Host(error) => error.into(),
        }
    }
}

impl From<&NoUser> for Exit {
    fn from(_: &NoUser) -> Self {
        Self::Invalid
    }
}

impl From<&JoinError> for Exit {
    fn from(error: &JoinError) -> Self {
        match error {
            JoinError::Host(error) => error.into(),
            _ => Self::Invalid,
        }
    }
}

impl From<&takt_daemon::Error> for Exit {
    fn from(error: &takt_daemon::Error) -> Self {
        match error {
            takt_daemon::Error::Kernel(error) => error.into(),
            _ => Self::Failed,
        }
    }
}

impl From<&AskError> for Exit {
    fn from(error: &AskError) -> Self {
        match error {
            AskError::NotRunning => Self::Lacking,
            AskError::Refused(refusal) => match refusal.code {
                Code::Busy | Code::Failed => Self::Failed,
                _ => Self::Invalid,
            },
            AskError::Failed(_) => Self::Failed,
        }
    }
}

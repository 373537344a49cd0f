//! takt's exit codes.

use std::process::ExitCode;

use takt_daemon::{AskError, Code};
use takt_host::{
    BeatsError, BpfError, Cause, CrowdError, Error, LinkError, NoUser, OsError, TrialError,
    Undecided, reservations::JoinError,
};

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
    /// A device of the policy is not there, which may change.
    Absent = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&Error> for Exit {
    fn from(error: &Error) -> Self {
        match error.cause() {
            Cause::Os(
                OsError::Capability { .. }
                | OsError::Barred(_)
                | OsError::TooManyFiles { .. }
                | OsError::Lacking { .. }
                | OsError::NoCgroup2
                | OsError::NoProc
                | OsError::NotTried { .. },
            )
            | Cause::Bpf(
                BpfError::KernelLacks { .. }
                | BpfError::KernelRefuses { .. }
                | BpfError::NoBpffs { .. }
                | BpfError::OpenBpffs { .. },
            )
            | Cause::Link(LinkError::NoIfb | LinkError::NoIngress { .. }) => Self::Lacking,
            Cause::Foreign(_)
            | Cause::Beats(
                BeatsError::OtherScheduler { .. }
                | BeatsError::BeatsElsewhere { .. }
                | BeatsError::CgroupLimits { .. }
                | BeatsError::BeatsEnded { .. },
            )
            | Cause::Crowd(CrowdError::NoCrowd)
            | Cause::Trial(TrialError::Pending(_) | TrialError::PendingElsewhere { .. }) => {
                Self::Changed
            }
            Cause::Trial(TrialError::NotConfirmed { left }) if !left.is_empty() => Self::Changed,
            Cause::Link(LinkError::NoStations { .. }) => Self::Invalid,
            _ => Self::Failed,
        }
    }
}

impl From<&Undecided> for Exit {
    fn from(error: &Undecided) -> Self {
        match error {
            Undecided::NoDevice { .. } => Self::Absent,
            Undecided::TwoNames { .. }
            | Undecided::Plan { .. }
            | Undecided::NoGap { .. }
            | Undecided::NoPushBack { .. }
            | Undecided::NoReceive { .. }
            | Undecided::NoTime(_) => Self::Invalid,
            Undecided::NoBackend { .. } => Self::Lacking,
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

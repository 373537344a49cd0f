//! How takt ends, as scripts see it.

use std::process::ExitCode;

use takt_kernel::{Error, Undecided};

/// The documented exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// Something failed that should not have.
    Failed = 1,
    /// The policy or the arguments are wrong.
    Invalid = 2,
    /// The kernel or the privileges lack something.
    Lacking = 3,
    /// The host was changed by someone else.
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
            | Error::NoBpffs { .. }
            | Error::NoCgroup2
            | Error::NoIfb
            | Error::NoIngress { .. } => Self::Lacking,
            Error::Foreign(_) => Self::Changed,
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
            | Undecided::NoUser(_) => Self::Invalid,
            Undecided::Host(error) => error.into(),
        }
    }
}

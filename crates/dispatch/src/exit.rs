//! How takt-dispatch ends, as scripts see it. The codes are takt's.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// Something failed that should not have.
    Failed = 1,
    /// The policy or the arguments are wrong.
    Invalid = 2,
    /// Without privileges.
    NoPrivilege = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

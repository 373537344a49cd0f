//! How takt-lab ends, as scripts see it. The codes are takt's.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// Something failed that should not have.
    Failed = 1,
    /// The arguments are wrong.
    Invalid = 2,
    /// The kernel or the caller's privileges are insufficient.
    Lacking = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

//! What this process may do.

use crate::{
    error::Error,
    os::{
        files,
        privilege::{Facts, Verdict},
    },
};

/// Refuse early, by name, what would fail later in a dozen ways.
pub fn require() -> Result<(), Error> {
    files::require_room()?;
    match Facts::gather().verdict() {
        Some(verdict) => Err(verdict.into()),
        None => Ok(()),
    }
}

/// What the kernel's refusal of something about BPF means; `None` if it may have other reasons.
pub(crate) fn refusal() -> Option<Error> {
    Facts::gather().of_refusal().map(Error::from)
}

/// Likewise of one that has no other reasons.
pub(crate) fn bare_refusal() -> Option<Error> {
    Facts::gather().of_bare_refusal().map(Error::from)
}

/// Whether the kernel keeps its memory from programs.
pub(crate) fn is_locked_down() -> bool {
    Facts::gather().is_locked_down()
}

impl From<Verdict> for Error {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Lacks(missing) => Self::Capability { missing },
            Verdict::Barred(barred) => Self::Barred(barred),
        }
    }
}

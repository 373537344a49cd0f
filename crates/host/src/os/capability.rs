//! This process's capabilities.

use std::path::Path;

use crate::{
    error::Error,
    os::{
        OsError, files,
        privilege::{Facts, Verdict},
    },
};

/// Refuse early, naming the capability, what would fail later in many ways.
pub fn require() -> Result<(), Error> {
    files::require_room()?;
    // As in a chroot.
    if !Path::new("/proc/self").exists() {
        return Err(OsError::NoProc.into());
    }
    match Facts::gather().verdict() {
        Some(verdict) => Err(verdict.into()),
        None => Ok(()),
    }
}

/// The meaning of the kernel's refusal of a BPF call; `None` if it may have other reasons.
pub(crate) fn refusal() -> Option<Error> {
    Facts::gather().of_refusal().map(Error::from)
}

/// Likewise for a refusal without other reasons.
pub(crate) fn bare_refusal() -> Option<Error> {
    Facts::gather().of_bare_refusal().map(Error::from)
}

/// Whether the kernel forbids programs to read its memory.
pub(crate) fn is_locked_down() -> bool {
    Facts::gather().is_locked_down()
}

impl From<Verdict> for Error {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Lacks(missing) => OsError::Capability { missing }.into(),
            Verdict::Barred(barred) => OsError::Barred(barred).into(),
        }
    }
}

//! What is noted of a policy with `[crowd]`, for each network namespace.

use serde::{Deserialize, Serialize};

use crate::{
    capability,
    error::Error,
    note::{Notes, netns_cookie},
    record::Source,
};

pub(super) const NOTES: Notes = Notes("crowd");

/// A policy with `[crowd]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    pub source: Source,
}

/// The policy with `[crowd]` that this network namespace follows, if it follows one.
pub fn applied_crowd() -> Result<Option<Source>, Error> {
    capability::require()?;
    let note: Option<Note> = NOTES.read(netns_cookie()?)?;
    Ok(note.map(|note| note.source))
}

/// Whether any namespace has such a policy.
pub(crate) fn is_anywhere() -> bool {
    NOTES.are_anywhere()
}

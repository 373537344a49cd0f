//! What taktd is told of a policy with `[radio]`, links or not.

use crate::{
    capability,
    error::Error,
    note::{Notes, netns_cookie},
    record::Source,
};

const NOTES: Notes = Notes("radio");

/// The policy with `[radio]` that this network namespace follows, if it follows one.
pub fn applied_radio() -> Result<Option<Source>, Error> {
    capability::require()?;
    NOTES.read(netns_cookie()?)
}

/// The policy in force has `[radio]`, or none does (any more). Whether anything
/// changed.
pub(crate) fn note(netns_cookie: u64, source: Option<&Source>) -> Result<bool, Error> {
    if NOTES.read::<Source>(netns_cookie)?.as_ref() == source {
        return Ok(false);
    }
    match source {
        Some(source) => NOTES.write(netns_cookie, source)?,
        None => NOTES.forget(netns_cookie)?,
    }
    Ok(true)
}

/// Whether any namespace has such a policy.
pub(crate) fn is_anywhere() -> bool {
    NOTES.are_anywhere()
}

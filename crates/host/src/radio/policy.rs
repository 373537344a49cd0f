//! What taktd is told of a policy with `[radio]`, links or not.

use crate::{
    error::Error,
    os::{capability, namespace::netns_cookie},
    state::{note::Notes, source::Source},
};

const NOTES: Notes = Notes("radio");

/// The policy with `[radio]` that this network namespace follows, if it follows one.
pub fn applied_radio() -> Result<Option<Source>, Error> {
    capability::require()?;
    NOTES.read(netns_cookie()?)
}

/// A policy's part that is taktd's, decided and not yet done.
pub(crate) struct Change<'a> {
    netns_cookie: u64,
    before: Option<Source>,
    next: Option<&'a Source>,
}

impl<'a> Change<'a> {
    /// The policy that this namespace is to follow is this, or has no `[radio]`.
    pub fn to(next: Option<&'a Source>, netns_cookie: u64) -> Result<Self, Error> {
        Ok(Self {
            netns_cookie,
            before: NOTES.read(netns_cookie)?,
            next,
        })
    }

    /// What takes room.
    pub fn commit(&self) -> Result<(), Error> {
        match self.next {
            Some(next) => self.note(Some(next)),
            None => Ok(()),
        }
    }

    /// The rest of the policy failed.
    pub fn undo(&self) -> Result<(), Error> {
        self.note(self.before.as_ref())
    }

    pub fn tidy(&self) -> Result<(), Error> {
        self.note(self.next)
    }

    fn note(&self, source: Option<&Source>) -> Result<(), Error> {
        let standing = NOTES.read::<Source>(self.netns_cookie)?;
        match source {
            _ if standing.as_ref() == source => Ok(()),
            Some(source) => NOTES.write(self.netns_cookie, source),
            None => NOTES.forget(self.netns_cookie),
        }
    }
}

/// This namespace follows no such policy any more. Whether it followed one.
pub(crate) fn revert(netns_cookie: u64) -> Result<bool, Error> {
    let change = Change::to(None, netns_cookie)?;
    change.tidy()?;
    Ok(change.before.is_some())
}

/// Forget what namespaces followed that are gone. Under the lock, no other takt is at it.
pub(crate) fn sweep() -> Result<(), Error> {
    NOTES
        .of_the_gone()?
        .into_iter()
        .try_for_each(|netns_cookie| NOTES.forget(netns_cookie))
}

/// Whether any namespace has such a policy.
pub(crate) fn is_anywhere() -> bool {
    NOTES.are_anywhere()
}

//! The record of a policy with `[radio]`, with or without links, which taktd reads.

use crate::{
    error::Error,
    os::{capability, namespace::netns_cookie},
    state::{note::Notes, source::Source},
};

const NOTES: Notes = Notes("radio");

/// The policy with `[radio]` in force in this network namespace, if there is one.
pub fn applied_radio() -> Result<Option<Source>, Error> {
    capability::require()?;
    NOTES.read(netns_cookie()?)
}

/// A policy's radio part, decided and not put in force yet.
pub(crate) struct Change<'a> {
    netns_cookie: u64,
    before: Option<Source>,
    next: Option<&'a Source>,
}

impl<'a> Change<'a> {
    /// This namespace is to follow this policy; `None`: it has no `[radio]`.
    pub fn to(next: Option<&'a Source>, netns_cookie: u64) -> Result<Self, Error> {
        Ok(Self {
            netns_cookie,
            before: NOTES.read(netns_cookie)?,
            next,
        })
    }

    /// The step that needs space: write the new record.
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

/// End the radio policy of this namespace. Returns whether there was one.
pub(crate) fn revert(netns_cookie: u64) -> Result<bool, Error> {
    let change = Change::to(None, netns_cookie)?;
    change.tidy()?;
    Ok(change.before.is_some())
}

/// Remove the records of namespaces that are gone. Under the lock no other takt is at work.
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

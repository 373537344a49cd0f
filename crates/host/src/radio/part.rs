//! The part of a transaction that is the stations': the record of a policy with `[radio]`, with
//! or without links. taktd reads it and sets the stations' weights; nothing else is in force.

use crate::{
    error::Error,
    os::{capability, namespace::netns_cookie},
    part::{Ending, Host, Part, Query, Undone},
    state::{note::Notes, source::Source},
};

const NOTES: Notes = Notes("radio");

/// The policy with `[radio]` in force in this network namespace, if there is one.
pub fn applied_radio() -> Result<Option<Source>, Error> {
    capability::require()?;
    NOTES.read(netns_cookie()?)
}

/// Make the records usable for taking back what they are about.
pub(crate) fn salvage(netns_cookie: u64) -> Result<(), Error> {
    NOTES.salvage::<Source>(netns_cookie).map(drop)
}

/// What a policy changes of this namespace's `[radio]`.
pub(crate) struct Radio<'a> {
    netns_cookie: u64,
    before: Option<Source>,
    next: Option<&'a Source>,
}

impl<'a> Radio<'a> {
    /// This namespace is to follow this policy; `None`: it has no `[radio]`.
    pub fn decide(next: Option<&'a Source>, netns_cookie: u64) -> Result<Self, Error> {
        Ok(Self {
            netns_cookie,
            before: NOTES.read(netns_cookie)?,
            next,
        })
    }

    fn note(&self, source: Option<&Source>) -> Result<(), Error> {
        let noted = NOTES.read::<Source>(self.netns_cookie)?;
        match source {
            _ if noted.as_ref() == source => Ok(()),
            Some(source) => NOTES.write(self.netns_cookie, source),
            None => NOTES.forget(self.netns_cookie),
        }
    }
}

impl Part for Radio<'_> {
    /// Whether there was a policy with `[radio]`.
    type Undone = bool;
    /// The state of stations is that of their link.
    type Status = ();

    fn sweep(_: &mut Host) -> Result<(), Error> {
        NOTES
            .of_the_gone()?
            .into_iter()
            .try_for_each(|netns_cookie| NOTES.forget(netns_cookie))
    }

    fn revert(host: &mut Host, _: Ending) -> Result<Undone<bool>, Error> {
        let change = Self::decide(None, host.netns_cookie)?;
        change.note(None)?;
        Ok(Undone::all(change.before.is_some()))
    }

    fn source(host: &mut Host) -> Result<Option<Source>, Error> {
        NOTES.read(host.netns_cookie)
    }

    fn status(_: &mut Host, _: Query) -> Result<(), Error> {
        Ok(())
    }

    fn settle() -> Result<bool, Error> {
        Ok(NOTES.are_anywhere())
    }

    /// The step that needs space: write the new record.
    fn commit(&mut self, _: &mut Host) -> Result<(), Error> {
        match self.next {
            Some(next) => self.note(Some(next)),
            None => Ok(()),
        }
    }

    fn undo(&mut self, _: &mut Host) -> Vec<Error> {
        self.note(self.before.as_ref()).err().into_iter().collect()
    }

    fn tidy(&mut self, _: &mut Host) -> Result<(), Error> {
        self.note(self.next)
    }
}

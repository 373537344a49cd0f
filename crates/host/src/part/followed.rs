//! Parts of a transaction that taktd carries out: the record of a policy that asks for something of
//! it, such as stations' weights. taktd reads the record; nothing else is in force.

use std::marker::PhantomData;

use super::{Ending, Host, Part, Query, Undone};
use crate::{
    error::Error,
    os::{capability, namespace},
    state::{records::Records, source::Source},
};

/// What a policy may ask of taktd.
pub(crate) trait Asked {
    /// One for each network namespace.
    const RECORDS: Records;
}

/// The policy in force in this network namespace that asks for it, if there is one.
pub(crate) fn applied<A: Asked>() -> Result<Option<Source>, Error> {
    capability::require()?;
    A::RECORDS.read(namespace::netns_cookie()?)
}

/// Make the records usable for taking back what they are about.
pub(crate) fn salvage<A: Asked>(netns_cookie: u64) -> Result<(), Error> {
    A::RECORDS.salvage::<Source>(netns_cookie).map(drop)
}

/// What a policy changes of what this namespace asks for.
pub(crate) struct Followed<'a, A> {
    asked: PhantomData<A>,
    netns_cookie: u64,
    before: Option<Source>,
    next: Option<&'a Source>,
}

impl<'a, A: Asked> Followed<'a, A> {
    /// This namespace is to follow this policy; `None`: it asks for nothing.
    pub fn decide(next: Option<&'a Source>, netns_cookie: u64) -> Result<Self, Error> {
        Ok(Self {
            asked: PhantomData,
            netns_cookie,
            before: A::RECORDS.read(netns_cookie)?,
            next,
        })
    }

    fn record(&self, source: Option<&Source>) -> Result<(), Error> {
        let recorded = A::RECORDS.read::<Source>(self.netns_cookie)?;
        match source {
            _ if recorded.as_ref() == source => Ok(()),
            Some(source) => A::RECORDS.write(self.netns_cookie, source),
            None => A::RECORDS.forget(self.netns_cookie),
        }
    }
}

impl<A: Asked> Part for Followed<'_, A> {
    /// Whether there was a policy that asked for it.
    type Undone = bool;
    /// The state is that of the links that it is about.
    type Status = ();

    fn sweep(_: &mut Host) -> Result<(), Error> {
        A::RECORDS
            .of_the_gone()?
            .into_iter()
            .try_for_each(|netns_cookie| A::RECORDS.forget(netns_cookie))
    }

    fn revert(host: &mut Host, _: Ending) -> Result<Undone<bool>, Error> {
        let change = Self::decide(None, host.netns_cookie)?;
        change.record(None)?;
        Ok(Undone::all(change.before.is_some()))
    }

    fn source(host: &mut Host) -> Result<Option<Source>, Error> {
        A::RECORDS.read(host.netns_cookie)
    }

    fn status(_: &mut Host, _: Query) -> Result<(), Error> {
        Ok(())
    }

    fn settle() -> Result<bool, Error> {
        Ok(A::RECORDS.are_anywhere())
    }

    /// The step that needs space: write the new record.
    fn commit(&mut self, _: &mut Host) -> Result<(), Error> {
        match self.next {
            Some(next) => self.record(Some(next)),
            None => Ok(()),
        }
    }

    fn undo(&mut self, _: &mut Host) -> Vec<Error> {
        self.record(self.before.as_ref())
            .err()
            .into_iter()
            .collect()
    }

    fn tidy(&mut self, _: &mut Host) -> Result<(), Error> {
        self.record(self.next)
    }
}

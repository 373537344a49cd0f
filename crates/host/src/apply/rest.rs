//! The parts of a policy beside links: threads, congestion windows, and the stations that taktd
//! maintains. They are prepared invisibly, put in force before links are, and undone if any
//! part of the policy fails.

use takt_policy::Policy;

use crate::{
    beats::{self, BeatsAction, Displaced},
    crowd::{self, CrowdAction},
    error::Error,
    link::{decide::Undecided, managed::Port},
    radio,
    state::source::Source,
};

/// Decided and not done yet.
pub(crate) struct Rest<'a> {
    beats: beats::Change,
    crowd: crowd::Change,
    radio: radio::Change<'a>,
}

impl<'a> Rest<'a> {
    pub fn of_policy(
        policy: &Policy,
        source: &'a Source,
        ports: &[Port],
        netns_cookie: u64,
    ) -> Result<Self, Undecided> {
        let beats = policy.beats.as_ref().map(|beats| (beats, source));
        let crowd = policy.crowd.as_ref().map(|crowd| (crowd, source));
        let radio = policy.radio.as_ref().map(|_| source);
        Ok(Self {
            beats: beats::Change::of_policy(beats, netns_cookie)?,
            crowd: crowd::Change::of_policy(crowd, ports, netns_cookie)?,
            radio: radio::Change::to(radio, netns_cookie)?,
        })
    }

    pub fn beats(&self) -> Option<BeatsAction> {
        self.beats.action()
    }

    /// Ad hoc tasks that make room for the policy's.
    pub fn displaced(&self) -> &[Displaced] {
        self.beats.displaced()
    }

    pub fn crowd(&self) -> Option<CrowdAction> {
        self.crowd.action()
    }

    /// Changes nothing, but checks that what would be loaded does load.
    pub fn verify(&self) -> Result<(), Error> {
        self.beats.verify().and_then(|()| self.crowd.verify())
    }

    /// The invisible work.
    pub fn prepare(&self) -> Result<(), Error> {
        self.beats.prepare().and_then(|()| self.crowd.prepare())
    }

    /// The visible change.
    pub fn commit(&self) -> Result<(), Error> {
        self.beats
            .commit()
            .and_then(|()| self.crowd.commit())
            .and_then(|()| self.radio.commit())
    }

    /// Restore the state before [`Self::prepare`]. A failure does not stop the rest.
    pub fn undo(&self) -> [Result<(), Error>; 3] {
        [self.beats.undo(), self.crowd.undo(), self.radio.undo()]
    }

    /// Remove what the new state no longer needs.
    pub fn tidy(&self) -> Result<(), Error> {
        self.beats.tidy()?;
        self.crowd.tidy()?;
        self.radio.tidy()
    }
}

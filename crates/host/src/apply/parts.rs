//! All parts of a transaction, in the order in which they are put in force. A new capability is
//! added here, and in [`Applied`], [`Undone`] and [`Status`](crate::Status).

use takt_policy::Policy;

use super::{Applied, revert::Undone, undecided::Undecided};
use crate::{
    beats::Tasks,
    crowd::Windows,
    error::Error,
    link::{Links, Owners, Replace},
    part::{Ending, Host, Part},
    radio::Radio,
    state::source::Source,
};

/// What a policy changes of this host.
pub(super) struct Parts<'a> {
    tasks: Tasks,
    windows: Windows,
    radio: Radio<'a>,
    links: Links<'a>,
}

impl<'a> Parts<'a> {
    pub fn decide(
        policy: &Policy,
        source: &'a Source,
        replace: &Replace,
        owners: &'a Owners,
        host: &mut Host,
    ) -> Result<Self, Undecided> {
        let beats = policy.beats.as_ref().map(|beats| (beats, source));
        let crowd = policy.crowd.as_ref().map(|crowd| (crowd, source));
        let radio = policy.radio.as_ref().map(|_| source);
        Ok(Self {
            tasks: Tasks::decide(beats, host.netns_cookie)?,
            windows: Windows::decide(crowd, host)?,
            radio: Radio::decide(radio, host.netns_cookie)?,
            links: Links::decide(&policy.links, source, replace, owners, host)?,
        })
    }

    pub fn each(&mut self) -> [&mut dyn Part; 4] {
        [
            &mut self.tasks,
            &mut self.windows,
            &mut self.radio,
            &mut self.links,
        ]
    }

    pub fn outcome(&self, policy: &Policy) -> Applied {
        Applied {
            links: self.links.outcomes(),
            beats: self.tasks.action(),
            displaced: self.tasks.displaced().to_vec(),
            radio: policy.radio.is_some(),
            crowd: self.windows.action(),
        }
    }
}

/// Remove what takts that died, and namespaces that are gone, have left.
pub(super) fn sweep(host: &mut Host) -> Result<(), Error> {
    Tasks::sweep(host)?;
    Windows::sweep(host)?;
    Radio::sweep(host)?;
    Links::sweep(host)
}

/// Take every part out.
pub(super) fn revert(host: &mut Host, ending: Ending) -> Result<Undone, Error> {
    let tasks = Tasks::revert(host, ending)?;
    let windows = Windows::revert(host, ending)?;
    let radio = Radio::revert(host, ending)?;
    let links = Links::revert(host, ending)?;
    let foreign = [tasks.foreign, windows.foreign, radio.foreign, links.foreign];
    Ok(Undone {
        links: links.done,
        beats: tasks.done,
        radio: radio.done,
        crowd: windows.done,
        foreign: foreign.into_iter().flatten().collect(),
    })
}

/// The policy that this namespace follows, if there is one.
pub(super) fn source(host: &mut Host) -> Result<Option<Source>, Error> {
    let sources = [Tasks::source, Radio::source, Windows::source, Links::source];
    for source in sources {
        if let Some(source) = source(host)? {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

/// Unload what no namespace needs. Returns whether any namespace follows a policy.
pub(super) fn settle() -> Result<bool, Error> {
    let mut is_used = false;
    for settle in [Tasks::settle, Windows::settle, Radio::settle, Links::settle] {
        is_used |= settle()?;
    }
    Ok(is_used)
}

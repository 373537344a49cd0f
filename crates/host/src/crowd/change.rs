//! What applying a policy means for the congestion windows of this network namespace, and doing
//! it: prepared invisibly, put in force with one write to a map, and undone if the rest of the
//! policy fails.

use serde::Serialize;
use takt_algo::WindowTerms;

use super::{
    Crowd,
    default::{self, CUBIC, TAKT},
    moving::{self, Flows},
    note::{Bounds, NOTES, Note, Terms, look},
};
use crate::{
    error::{Error, Foreign},
    link::{decide::Undecided, managed::Port},
    state::source::Source,
};

/// What was done to the crowd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CrowdAction {
    /// There was none.
    Joined,
    /// There was one on other terms.
    Updated,
    /// The terms are unchanged.
    Unchanged,
    /// The previous policy had one.
    Left,
}

/// A policy's crowd, decided and not put in force yet.
pub(crate) struct Change {
    netns_cookie: u64,
    action: Option<CrowdAction>,
    /// As an earlier takt left it.
    found: Option<Note>,
    in_force: Option<Terms>,
    next: Option<Terms>,
    /// The default congestion control at present; empty if it is not to be changed.
    standing: String,
}

impl Change {
    /// Replace the terms of this namespace by the policy's.
    pub fn of_policy(
        policy: Option<(&takt_policy::Crowd, &Source)>,
        ports: &[Port],
        netns_cookie: u64,
    ) -> Result<Self, Undecided> {
        let bounds = policy.map(|(crowd, _)| bounds(crowd, ports)).transpose()?;
        let policy = policy.map(|(_, source)| source).zip(bounds);
        Ok(Self::to(policy, netns_cookie)?)
    }

    fn to(policy: Option<(&Source, Option<Bounds>)>, netns_cookie: u64) -> Result<Self, Error> {
        let (found, generation) = look(netns_cookie)?;
        let in_force = found.as_ref().and_then(|note| note.in_force(generation));
        let newest = found.as_ref().map_or(0, |note| note.next.generation);
        let next = policy.map(|(source, bounds)| {
            let same = in_force.filter(|terms| terms.source == *source && terms.bounds == bounds);
            Terms {
                generation: same.map_or(newest.wrapping_add(1), |terms| terms.generation),
                source: source.clone(),
                bounds,
            }
        });
        let action = match (in_force, &next) {
            (None, None) => None,
            (None, Some(_)) => Some(CrowdAction::Joined),
            (Some(_), None) => Some(CrowdAction::Left),
            (Some(before), Some(next)) if before == next => Some(CrowdAction::Unchanged),
            (Some(_), Some(_)) => Some(CrowdAction::Updated),
        };
        let standing = match (&found, &next) {
            (None, None) => String::new(),
            _ => default::read()?,
        };
        Ok(Self {
            netns_cookie,
            action,
            in_force: in_force.cloned(),
            found,
            next,
            standing,
        })
    }

    pub fn action(&self) -> Option<CrowdAction> {
        self.action
    }

    /// Changes nothing, but checks that what would be loaded does load.
    pub fn verify(&self) -> Result<(), Error> {
        match self.next_bounds() {
            Some(_) if Crowd::open()?.is_none() => Crowd::verify(),
            _ => Ok(()),
        }
    }

    /// The invisible work.
    pub fn prepare(&self) -> Result<(), Error> {
        let (Some(next), Some(_)) = (&self.next, self.next_bounds()) else {
            return Ok(());
        };
        if Crowd::open()?.is_none() {
            moving::verify()?;
            Crowd::load()?;
        }
        self.note(next, self.in_force.clone(), Some(self.before()))
    }

    /// The visible change: for every new flow, and for the bounds of running ones.
    pub fn commit(&self) -> Result<(), Error> {
        match (&self.next, self.next_bounds()) {
            (Some(next), Some(bounds)) => {
                // Without terms it still is CUBIC.
                self.set_default(TAKT)?;
                enter(next.generation, bounds)
            }
            (Some(next), None) => self.note(next, None, self.changed_from()),
            (None, _) => Ok(()),
        }
    }

    /// The rest of the policy failed: restore the state before [`Self::prepare`].
    pub fn undo(&self) -> Result<(), Error> {
        if self.next.is_none() {
            return Ok(());
        }
        match (&self.in_force, Crowd::open()?) {
            (Some(terms), _) if terms.bounds.is_some() => {
                if let Some(bounds) = &terms.bounds {
                    enter(terms.generation, bounds)?;
                }
            }
            (_, Some(crowd)) => crowd.leave()?,
            (_, None) => {}
        }
        if default::read()? != self.standing {
            default::write(&self.standing)?;
        }
        match &self.found {
            Some(note) => NOTES.write(self.netns_cookie, note),
            None => NOTES.forget(self.netns_cookie),
        }
    }

    /// What may be done later: running flows are moved, and bounds that are no longer in force
    /// are removed. What other programs changed meanwhile is left alone.
    pub fn tidy(&self) -> Result<Option<Foreign>, Error> {
        let before = self.before();
        if let (Some(next), Some(bounds)) = (&self.next, self.next_bounds()) {
            self.note(next, None, Some(before.clone()))?;
            let flows = Flows {
                of: &before,
                ifindex: Some(bounds.ifindex),
            };
            return flows.change_to(TAKT).map(|()| None);
        }
        let foreign = match self.changed_from() {
            Some(before) => self.end(&before)?,
            None => None,
        };
        match &self.next {
            Some(next) => self.note(next, None, None)?,
            None => NOTES.forget(self.netns_cookie)?,
        }
        Ok(foreign)
    }

    /// No policy of this namespace uses the congestion control any more.
    fn end(&self, before: &str) -> Result<Option<Foreign>, Error> {
        let is_ours = self.standing == TAKT || self.standing == before;
        if is_ours {
            self.set_default(before)?;
        }
        if let Some(crowd) = Crowd::open()? {
            crowd.leave()?;
        }
        let flows = Flows {
            of: TAKT,
            ifindex: None,
        };
        flows.change_to(before)?;
        Ok((!is_ours).then(|| Foreign::Congestion {
            found: self.standing.clone(),
        }))
    }

    /// The default that is restored later. A namespace that was made under takt has inherited
    /// takt's, and an earlier takt may have set it.
    fn before(&self) -> String {
        match self.standing.as_str() {
            TAKT => self.changed_from().unwrap_or_else(|| CUBIC.to_owned()),
            other => other.to_owned(),
        }
    }

    /// The default that an earlier takt found, if it has changed it.
    fn changed_from(&self) -> Option<String> {
        self.found.as_ref()?.before.clone()
    }

    fn next_bounds(&self) -> Option<&Bounds> {
        self.next.as_ref()?.bounds.as_ref()
    }

    fn set_default(&self, congestion: &str) -> Result<(), Error> {
        match self.standing == congestion {
            true => Ok(()),
            false => default::write(congestion),
        }
    }

    fn note(&self, next: &Terms, last: Option<Terms>, before: Option<String>) -> Result<(), Error> {
        let note = Note {
            next: next.clone(),
            last,
            before,
        };
        // An existing entry takes no further room, of which there may be none left.
        match NOTES.read::<Note>(self.netns_cookie)? {
            Some(standing) if standing == note => Ok(()),
            _ => NOTES.write(self.netns_cookie, &note),
        }
    }
}

/// End the crowd of this namespace. Returns whether there was anything to end, and whether
/// anything was left alone.
pub(crate) fn revert(netns_cookie: u64) -> Result<(Option<CrowdAction>, Option<Foreign>), Error> {
    let change = Change::to(None, netns_cookie)?;
    let foreign = change.tidy()?;
    Ok((change.action, foreign))
}

fn bounds(crowd: &takt_policy::Crowd, ports: &[Port]) -> Result<Option<Bounds>, Undecided> {
    let port = ports.iter().find(|port| port.device.name == crowd.device);
    let port = port.ok_or_else(|| Undecided::NoDevice {
        device: crowd.device.clone(),
    })?;
    Ok(crowd.has_bounds().then(|| Bounds {
        device: crowd.device.clone(),
        ifindex: port.device.index,
        period_ns: crowd.interval_ns,
    }))
}

fn enter(generation: u32, bounds: &Bounds) -> Result<(), Error> {
    let crowd = Crowd::open()?.ok_or(Error::NoCrowd)?;
    crowd.enter(
        generation,
        bounds.ifindex,
        bounds.period_ns,
        &WindowTerms::default(),
    )
}

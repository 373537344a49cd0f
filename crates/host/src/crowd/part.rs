//! The part of a transaction that is the crowd's: the congestion windows of this network
//! namespace. One write to a map puts a policy in force.

use serde::Serialize;
use takt_algo::WindowTerms;
use thiserror::Error;

use super::{
    Crowd,
    default::{self, CUBIC, TAKT},
    downloads,
    moving::{self, Flows},
    record::{Bounds, RECORDS, Record, Terms, in_force, look},
    status::{self, CrowdStatus},
};
use crate::{
    bpf::pinned::CROWD,
    crowd::CrowdError,
    error::Error,
    os::netlink::Port,
    part::{Ending, Foreign, Host, Part, Query, Undone},
    state::source::Source,
};

/// A policy that this host's crowd cannot follow.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error("there is no device {device}")]
    NoDevice { device: String },
    #[error(transparent)]
    Host(#[from] Error),
}

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

/// What a policy changes of the crowd.
pub(crate) struct Windows {
    netns_cookie: u64,
    action: Option<CrowdAction>,
    /// As an earlier takt left it.
    found: Option<Record>,
    in_force: Option<Terms>,
    next: Option<Terms>,
    /// The default congestion control at present; empty if it is not to be changed.
    standing: String,
    /// This takt has loaded it, perhaps in the place of another version's.
    was_loaded: bool,
}

impl Windows {
    /// Replace the terms of this namespace by the policy's.
    pub fn decide(
        policy: Option<(&takt_policy::Crowd, &Source)>,
        host: &mut Host,
    ) -> Result<Self, Refusal> {
        let bounds = match policy {
            Some((crowd, _)) => Some(bounds(crowd, &host.ports()?)?),
            None => None,
        };
        let policy = policy.map(|(_, source)| source).zip(bounds);
        Ok(Self::to(policy, host.netns_cookie)?)
    }

    fn to(policy: Option<(&Source, Option<Bounds>)>, netns_cookie: u64) -> Result<Self, Error> {
        let (found, generation) = look(netns_cookie)?;
        let replaces = CROWD.is_pinned()? && Crowd::open()?.is_none();
        let in_force = found.as_ref().and_then(|record| {
            if replaces {
                // Its generation cannot be read, and it is the last one but for a takt that died.
                Some(&record.next)
            } else {
                record.in_force(generation)
            }
        });
        let newest = found.as_ref().map_or(0, |record| record.next.generation);
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
            was_loaded: false,
        })
    }

    pub fn action(&self) -> Option<CrowdAction> {
        self.action
    }

    fn restore(&self) -> Result<(), Error> {
        if self.next.is_none() {
            return Ok(());
        }
        match (&self.in_force, Crowd::open()?) {
            (Some(terms), _) if terms.bounds.is_some() => {
                if let Some(bounds) = &terms.bounds {
                    forward(bounds)?;
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
            Some(record) => RECORDS.write(self.netns_cookie, record),
            None => RECORDS.forget(self.netns_cookie),
        }
    }

    /// What may be done later: running flows are moved, and bounds that are no longer in force
    /// are removed. What other programs changed meanwhile is left alone.
    fn finish(&self) -> Result<Option<Foreign>, Error> {
        if self.changed_from().is_some() {
            // A taktd that was killed has left its bounds; one that lives sets them anew.
            downloads::free()?;
        }
        let before = self.before();
        if let (Some(next), Some(bounds)) = (&self.next, self.next_bounds()) {
            self.record(next, None, Some(before.clone()))?;
            forward(bounds)?;
            let of_others = self.was_loaded.then_some(TAKT);
            for of in [before.as_str()].into_iter().chain(of_others) {
                let flows = Flows {
                    of,
                    ifindex: Some(bounds.ifindex),
                };
                flows.change_to(TAKT)?;
            }
            return Ok(None);
        }
        let foreign = match self.changed_from() {
            Some(before) => self.end(&before)?,
            None => None,
        };
        match &self.next {
            Some(next) => self.record(next, None, None)?,
            None => RECORDS.forget(self.netns_cookie)?,
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
        if self.standing == congestion {
            Ok(())
        } else {
            default::write(congestion)
        }
    }

    fn record(
        &self,
        next: &Terms,
        last: Option<Terms>,
        before: Option<String>,
    ) -> Result<(), Error> {
        let record = Record {
            next: next.clone(),
            last,
            before,
        };
        // An existing entry takes no further room, of which there may be none left.
        match RECORDS.read::<Record>(self.netns_cookie)? {
            Some(standing) if standing == record => Ok(()),
            _ => RECORDS.write(self.netns_cookie, &record),
        }
    }
}

impl Part for Windows {
    type Undone = Option<CrowdAction>;
    type Status = Option<CrowdStatus>;

    /// With a namespace, its flows are gone.
    fn sweep(_: &mut Host) -> Result<(), Error> {
        for netns_cookie in RECORDS.of_the_gone()? {
            if let Some(crowd) = Crowd::for_namespace(netns_cookie)? {
                crowd.leave()?;
            }
            RECORDS.forget(netns_cookie)?;
        }
        Ok(())
    }

    fn revert(host: &mut Host, _: Ending) -> Result<Undone<Self::Undone>, Error> {
        let change = Self::to(None, host.netns_cookie)?;
        let foreign = change.finish()?;
        Ok(Undone {
            done: change.action,
            foreign: foreign.into_iter().collect(),
        })
    }

    fn source(host: &mut Host) -> Result<Option<Source>, Error> {
        in_force(host.netns_cookie)
    }

    fn status(_: &mut Host, _: Query) -> Result<Self::Status, Error> {
        status::status()
    }

    fn settle() -> Result<bool, Error> {
        let is_used = RECORDS.are_anywhere();
        match Crowd::open()? {
            Some(crowd) if !is_used => crowd.unload()?,
            _ => {}
        }
        Ok(is_used)
    }

    fn verify(&self) -> Result<(), Error> {
        match self.next_bounds() {
            Some(_) if Crowd::open()?.is_none() => Crowd::verify(),
            _ => Ok(()),
        }
    }

    fn prepare(&mut self, _: &mut Host) -> Result<(), Error> {
        let (Some(next), Some(_)) = (&self.next, self.next_bounds()) else {
            return Ok(());
        };
        if Crowd::open()?.is_none() {
            moving::verify()?;
            Crowd::load()?;
            self.was_loaded = true;
        }
        // Without a pass nothing is bounded.
        if let Some(bounds) = self.next_bounds().filter(|bounds| bounds.downloads) {
            forward(bounds)?;
        }
        self.record(next, self.in_force.clone(), Some(self.before()))
    }

    /// For every new flow, and for the bounds of running ones.
    fn commit(&mut self, _: &mut Host) -> Result<(), Error> {
        match (&self.next, self.next_bounds()) {
            (Some(next), Some(bounds)) => {
                // Without terms it still is CUBIC. Another version's has the same name.
                if self.was_loaded {
                    default::write(TAKT)?
                } else {
                    self.set_default(TAKT)?
                }
                enter(next.generation, bounds)
            }
            (Some(next), None) => self.record(next, None, self.changed_from()),
            (None, _) => Ok(()),
        }
    }

    fn undo(&mut self, _: &mut Host) -> Vec<Error> {
        self.restore().err().into_iter().collect()
    }

    /// What other programs changed meanwhile is left alone.
    fn tidy(&mut self, _: &mut Host) -> Result<(), Error> {
        self.finish().map(drop)
    }
}

fn bounds(crowd: &takt_policy::Crowd, ports: &[Port]) -> Result<Option<Bounds>, Refusal> {
    let port = ports
        .iter()
        .find(|port| port.device.is_called(&crowd.device));
    let port = port.ok_or_else(|| Refusal::NoDevice {
        device: crowd.device.clone(),
    })?;
    Ok(crowd.has_bounds().then(|| Bounds {
        device: crowd.device.clone(),
        ifindex: port.device.index,
        period_ns: crowd.interval_ns,
        downloads: crowd.downloads,
    }))
}

/// Have forwarded downloads of the device bounded, or none.
fn forward(bounds: &Bounds) -> Result<(), Error> {
    let crowd = Crowd::open()?.ok_or(CrowdError::NoCrowd)?;
    if bounds.downloads {
        crowd.forward(bounds.ifindex)
    } else {
        crowd.forward_nothing()
    }
}

fn enter(generation: u32, bounds: &Bounds) -> Result<(), Error> {
    let crowd = Crowd::open()?.ok_or(CrowdError::NoCrowd)?;
    crowd.enter(
        generation,
        bounds.ifindex,
        bounds.period_ns,
        &WindowTerms::default(),
    )
}

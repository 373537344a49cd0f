//! The record of a policy with `[crowd]`, one for each network namespace.
//!
//! The record is written before the policy takes effect. The terms in the kernel name the
//! generation in force, so record and terms change in the same instant, however takt ends.

use serde::{Deserialize, Serialize};

use super::{
    Crowd,
    default::{self, CUBIC, TAKT},
    downloads,
    moving::Flows,
};
use crate::{
    error::Error,
    os::{capability, namespace::netns_cookie},
    state::{records::Records, source::Source},
};

pub(super) const RECORDS: Records = Records("crowd");

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub next: Terms,
    /// In force until the next terms are.
    pub last: Option<Terms>,
    /// The default congestion control before takt, if takt has changed it.
    pub before: Option<String>,
}

/// A policy's, for this namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub generation: u32,
    pub source: Source,
    /// An aggregator has no terms, and nothing in the kernel.
    pub bounds: Option<Bounds>,
}

/// The device whose flows are bounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    pub device: String,
    pub ifindex: u32,
    pub period_ns: u64,
    /// Whether downloads are bounded, too.
    #[serde(default)]
    pub downloads: bool,
}

impl Record {
    /// The terms in force, if the kernel's are of this generation.
    pub fn in_force(&self, generation: Option<u32>) -> Option<&Terms> {
        [Some(&self.next), self.last.as_ref()]
            .into_iter()
            .flatten()
            .find(|terms| terms.bounds.is_none() || Some(terms.generation) == generation)
    }
}

/// The record of a namespace, and the generation of its terms in the kernel.
pub(super) fn look(netns_cookie: u64) -> Result<(Option<Record>, Option<u32>), Error> {
    let record = RECORDS.read(netns_cookie)?;
    let generation = match Crowd::for_namespace(netns_cookie)? {
        Some(crowd) if record.is_some() => crowd.generation()?,
        _ => None,
    };
    Ok((record, generation))
}

/// The policy with `[crowd]` in force in a network namespace, if there is one.
pub(super) fn in_force(netns_cookie: u64) -> Result<Option<Source>, Error> {
    let (record, generation) = look(netns_cookie)?;
    let terms = record
        .as_ref()
        .and_then(|record| record.in_force(generation));
    Ok(terms.map(|terms| terms.source.clone()))
}

/// The policy with `[crowd]` in force in this network namespace, if there is one.
pub fn applied_crowd() -> Result<Option<Source>, Error> {
    capability::require()?;
    in_force(netns_cookie()?)
}

/// Whether this namespace has a record, whatever is in the kernel.
pub(crate) fn is_here(netns_cookie: u64) -> Result<bool, Error> {
    Ok(RECORDS.read::<Record>(netns_cookie)?.is_some())
}

/// Whether another living namespace has one.
pub(crate) fn is_elsewhere(netns_cookie: u64) -> bool {
    RECORDS.are_elsewhere(netns_cookie)
}

/// Make the records usable for taking back what they are about. Without this namespace's it is
/// not known what was there before: the kernel's own default is the best guess.
pub(crate) fn salvage(netns_cookie: u64) -> Result<(), Error> {
    if !RECORDS.salvage::<Record>(netns_cookie)? {
        return Ok(());
    }
    if default::read()? == TAKT {
        default::write(CUBIC)?;
    }
    downloads::free()?;
    if let Some(crowd) = Crowd::for_namespace(netns_cookie)? {
        crowd.leave()?;
    }
    let flows = Flows {
        of: TAKT,
        ifindex: None,
    };
    flows.change_to(CUBIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(generation: u32, is_bounded: bool) -> Terms {
        Terms {
            generation,
            source: Source {
                name: generation.to_string(),
                text: String::new(),
                folder: "/".into(),
            },
            bounds: is_bounded.then(|| Bounds {
                device: "wlan0".to_owned(),
                ifindex: 2,
                period_ns: 200_000_000,
                downloads: false,
            }),
        }
    }

    #[test]
    fn the_kernel_says_which_terms_are_in_force() {
        let in_force = |next: &Terms, last: Option<&Terms>, generation| {
            let record = Record {
                next: next.clone(),
                last: last.cloned(),
                before: None,
            };
            record.in_force(generation).map(|terms| terms.generation)
        };
        let (first, second) = (terms(1, true), terms(2, true));
        assert_eq!(in_force(&first, None, None), None);
        assert_eq!(in_force(&first, None, Some(1)), Some(1));
        assert_eq!(in_force(&second, Some(&first), Some(1)), Some(1));
        assert_eq!(in_force(&second, Some(&first), Some(2)), Some(2));
        // An aggregator has nothing in the kernel.
        let aggregator = terms(3, false);
        assert_eq!(in_force(&aggregator, None, None), Some(3));
        assert_eq!(in_force(&first, Some(&aggregator), None), Some(3));
    }
}

//! Links of the policy in force whose devices do not carry takt's qdisc any more: the device went and
//! came back, or another program replaced the qdisc.

use std::collections::BTreeSet;

use takt_policy::{Link, OnConflict};

use crate::{error::Error, link::managed::Managed, os::netlink::Port};

/// A link whose device is there, without takt's qdisc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostLink {
    /// As the policy names it.
    pub device: String,
    /// Its number in this network namespace.
    pub ifindex: u32,
    /// Why it does not carry takt's qdisc.
    pub cause: LostBy,
    /// What the policy says about other programs' qdiscs.
    pub on_conflict: OnConflict,
}

/// Why a device does not carry takt's qdisc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostBy {
    /// It went, and is there again as the kernel makes it.
    Return,
    /// It has another root qdisc, or another program removed takt's.
    Conflict {
        /// Kind and handle, or the kernel's default.
        found: String,
    },
}

/// Whether a device carries takt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carries {
    /// It does.
    Takt,
    /// It did, and does not now.
    NoMore,
    /// This device never did.
    Never,
}

/// Whether a device carries takt's own qdisc, which one of these links serves.
pub(crate) fn carries_takt(port: &Port, managed: &[Managed]) -> Carries {
    let ours = managed
        .iter()
        .find(|managed| managed.outline.owner.ifindex == port.device.index);
    match ours {
        Some(ours) if port.carries(ours.index) => Carries::Takt,
        Some(_) => Carries::NoMore,
        None => Carries::Never,
    }
}

/// `gone` are devices that were away meanwhile, by their numbers, as far as that is known. A device that
/// is away now is not among the result.
pub(crate) fn find<'a>(
    links: impl Iterator<Item = &'a Link>,
    ports: &[Port],
    gone: &BTreeSet<u32>,
    mut carries: impl FnMut(&Port) -> Result<Carries, Error>,
) -> Result<Vec<LostLink>, Error> {
    let judge = |link: &Link| {
        let port = ports
            .iter()
            .find(|port| port.device.is_called(&link.device));
        let Some(port) = port else {
            return Ok(None);
        };
        let ifindex = port.device.index;
        let found = port.root.as_ref().map(|_| port.describe_root());
        let cause = lost_by(carries(port)?, found, gone.contains(&ifindex));
        Ok(cause.map(|cause| LostLink {
            device: link.device.clone(),
            ifindex,
            cause,
            on_conflict: link.on_conflict,
        }))
    };
    let judged = links.map(judge);
    judged.filter_map(Result::transpose).collect()
}

/// `found`: the root qdisc; `None`: the kernel's default. A device that moves to another network namespace
/// and back keeps its number and loses its qdisc.
fn lost_by(carries: Carries, found: Option<String>, was_away: bool) -> Option<LostBy> {
    match (carries, found) {
        (Carries::Takt, _) => None,
        (_, Some(found)) => Some(LostBy::Conflict { found }),
        (Carries::Never, None) => Some(LostBy::Return),
        (Carries::NoMore, None) if was_away => Some(LostBy::Return),
        (Carries::NoMore, None) => Some(LostBy::Conflict {
            found: "the kernel's default".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(found: &str) -> Option<LostBy> {
        Some(LostBy::Conflict {
            found: found.to_owned(),
        })
    }

    #[test]
    fn a_device_that_came_back_carries_the_kernels_default() {
        assert_eq!(lost_by(Carries::Never, None, false), Some(LostBy::Return));
        assert_eq!(lost_by(Carries::NoMore, None, true), Some(LostBy::Return));
    }

    #[test]
    fn other_qdiscs_are_conflicts() {
        let fq = || Some("fq 8001:".to_owned());
        for carries in [Carries::NoMore, Carries::Never] {
            for was_away in [false, true] {
                assert_eq!(lost_by(carries, fq(), was_away), conflict("fq 8001:"));
            }
        }
        let removed = lost_by(Carries::NoMore, None, false);
        assert_eq!(removed, conflict("the kernel's default"));
    }

    #[test]
    fn what_carries_takt_is_not_lost() {
        let takt = Some("takt 7a00:".to_owned());
        assert_eq!(lost_by(Carries::Takt, takt, true), None);
    }
}

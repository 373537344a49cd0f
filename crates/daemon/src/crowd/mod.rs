//! What taktd does for a policy's `[crowd]`. A terminal reports its throughput to its
//! neighbours, hears theirs, and tells the kernel what the group has. An aggregator collects
//! the terminals' reports and sends their sum to all. An access point watches the stations that
//! contend.

mod access_point;
mod aggregator;
pub(crate) mod capacities_file;
mod control;
mod line;
mod memory;
mod terminal;

use std::{
    hash::{BuildHasher, RandomState},
    path::Path,
};

use takt_host::{Error, applied_crowd, persistent};
use takt_policy::{CrowdRole, Policy};

use self::access_point::{AccessPoint, Watch};
use crate::{
    protocol::Neighbourhood,
    service::{Make, Services},
};

/// How often the device and the kernel's table are looked for; both come and go.
const LOOK_NS: u64 = 1_000_000_000;
/// How often per interval received datagrams are looked for.
const POLLS_PER_INTERVAL: u64 = 4;

/// The crowd of the policy in this network namespace.
pub(crate) struct Crowd(Services<Neighbourhood>);

impl Default for Crowd {
    fn default() -> Self {
        Self(Services::new("crowd"))
    }
}

impl Crowd {
    /// Follow the policy in force from now on.
    pub fn follow(&mut self) -> Result<(), Error> {
        self.0.follow(applied_crowd()?, parts);
        Ok(())
    }

    /// The terminals that were heard.
    pub fn neighbourhoods(&self) -> Vec<Neighbourhood> {
        self.0.said()
    }

    /// The others are told, and flows go by their own round trips from then on.
    pub fn end(&mut self) {
        self.0.end();
    }
}

fn parts(policy: &Policy) -> Vec<Make<Neighbourhood>> {
    let Some(crowd) = policy.crowd.clone() else {
        return Vec::new();
    };
    // Its link to the terminals reads acknowledgements where access_point is set.
    let mut links = policy.links.iter();
    let thins = links.any(|link| link.device == crowd.device && link.thins_acks);
    let device = crowd.device.clone();
    let watches_alone = thins && crowd.role != CrowdRole::Aggregator;
    let watch: Option<Make<Neighbourhood>> =
        watches_alone.then_some(Box::new(move || Box::new(Watch::on(&device))));
    let member: Make<Neighbourhood> = Box::new(move || match crowd.role {
        CrowdRole::Aggregator => {
            let access_point = thins.then(|| AccessPoint::on(&crowd.device));
            Box::new(aggregator::Aggregator::new(crowd, access_point))
        }
        CrowdRole::Multicast | CrowdRole::Aggregated { .. } => {
            let memory = memory::Memory::new(Path::new(persistent::DIR));
            let open = Box::new(control::open);
            Box::new(terminal::Terminal::new(crowd, open, memory))
        }
    });
    [Some(member), watch].into_iter().flatten().collect()
}

/// A random time to send at. It need not be secret, only differ from the other hosts'.
fn random() -> u32 {
    RandomState::new().hash_one(0) as u32
}

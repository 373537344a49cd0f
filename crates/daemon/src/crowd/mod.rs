//! What a policy's `[crowd]` has taktd do: tell the neighbours what this terminal gets of the
//! air, hear them, and tell the kernel what the group has; or collect what terminals say and
//! tell all of all.

mod aggregator;
mod control;
mod line;
mod terminal;

use std::hash::{BuildHasher, RandomState};

use takt_host::{Error, applied_crowd};
use takt_policy::{CrowdRole, Policy};

use crate::{
    part::{Make, Parts},
    protocol::Neighbourhood,
};

/// How often the device is looked for, and the kernel's table, which come and go.
const LOOK_NS: u64 = 1_000_000_000;
/// So often in an interval is it looked for what has come.
const POLLS_PER_INTERVAL: u64 = 4;

/// What is done for the policy of this network namespace.
pub(crate) struct Crowd(Parts<Neighbourhood>);

impl Default for Crowd {
    fn default() -> Self {
        Self(Parts::of("crowd"))
    }
}

impl Crowd {
    /// Do what the policy in force says now.
    pub fn follow(&mut self) -> Result<(), Error> {
        self.0.follow(applied_crowd()?, parts);
        Ok(())
    }

    /// Who is there.
    pub fn neighbourhoods(&self) -> Vec<Neighbourhood> {
        self.0.said()
    }

    /// The others are told, and flows go by their own round trips.
    pub fn end(&mut self) {
        self.0.end();
    }
}

fn parts(policy: &Policy) -> Vec<Make<Neighbourhood>> {
    let Some(crowd) = policy.crowd.clone() else {
        return Vec::new();
    };
    vec![Box::new(move || match crowd.role {
        CrowdRole::Aggregator => Box::new(aggregator::Aggregator::new(crowd)),
        CrowdRole::Multicast | CrowdRole::Aggregated { .. } => {
            Box::new(terminal::Terminal::new(crowd, Box::new(control::open)))
        }
    })]
}

/// When somebody speaks is nobody's secret; it only is to differ.
fn random() -> u32 {
    RandomState::new().hash_one(0) as u32
}

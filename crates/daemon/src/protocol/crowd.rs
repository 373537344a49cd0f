//! What taktd has heard of those that share the air.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use takt_agent::{
    address_of,
    crowd::{Activity, Member},
};
use takt_algo::Group;
use takt_kernel::Datagrams;
use takt_policy::{Crowd, CrowdRole};

/// Only what it heard in the network namespace of who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedCrowd {
    pub neighbourhoods: Vec<Neighbourhood>,
}

/// A group, as seen from here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbourhood {
    pub group: String,
    pub device: String,
    /// `multicast`, `aggregated` or `aggregator`.
    pub role: String,
    /// What the policy wants, and what the air allows with as many as are there.
    pub interval_ms: u64,
    pub report_interval_ms: u64,
    pub reports_sent: u64,
    /// `None` of an aggregator, whose flows go their own way.
    pub share: Option<Share>,
    pub neighbours: Vec<Neighbour>,
    pub datagrams: Datagrams,
}

/// What this terminal does, and what its flows' bounds go by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub rate_bytes_ps: u32,
    pub flows: u16,
    pub lends: bool,
    /// Terminals that use what they can get, itself included.
    pub users: u64,
    /// What each of them has of what all have, and what all achieved lately.
    pub share_bytes_ps: u64,
    pub capacity_bytes_ps: u64,
}

/// Another terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Made of its hardware address, and that; of another number just its digits.
    pub number: u64,
    pub name: String,
    /// `None` if the aggregator told of it.
    pub address: Option<IpAddr>,
    pub rate_bytes_ps: u32,
    pub flows: u16,
    pub lends: bool,
    /// Its mean round trip over the shortest, in thousandths.
    pub rtt_ratio_milli: Option<u32>,
    /// Since it was heard of.
    pub age_ms: u64,
}

impl Neighbourhood {
    pub(crate) fn of(crowd: &Crowd) -> Self {
        let role = match crowd.role {
            CrowdRole::Multicast => "multicast",
            CrowdRole::Aggregated { .. } => "aggregated",
            CrowdRole::Aggregator => "aggregator",
        };
        Self {
            group: crowd.group.clone(),
            device: crowd.device.clone(),
            role: role.to_owned(),
            interval_ms: crowd.interval_ns / 1_000_000,
            ..Self::default()
        }
    }
}

impl Share {
    pub(crate) fn of(activity: &Activity, group: &Group) -> Self {
        Self {
            rate_bytes_ps: activity.rate_bytes_ps,
            flows: activity.flows,
            lends: activity.lends,
            users: group.users(),
            share_bytes_ps: group.share_bytes_ps(),
            capacity_bytes_ps: group.capacity_bytes_ps(),
        }
    }
}

impl Neighbour {
    pub(crate) fn of(now_ns: u64, number: u64, member: &Member) -> Self {
        let Activity {
            rate_bytes_ps,
            flows,
            lends,
            rtt_ratio_q8,
        } = member.activity;
        let milli = u32::from(rtt_ratio_q8) * 1000 / 256;
        let name = address_of(number).map(|address| address.to_string());
        Self {
            number,
            name: name.unwrap_or_else(|| number.to_string()),
            address: member.from,
            rate_bytes_ps,
            flows,
            lends,
            rtt_ratio_milli: Some(milli).filter(|milli| *milli > 0),
            age_ms: now_ns.saturating_sub(member.heard_ns) / 1_000_000,
        }
    }
}

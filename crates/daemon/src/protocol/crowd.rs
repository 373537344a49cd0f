//! What taktd has heard of those that share the air.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use takt_algo::Group;
use takt_host::Datagrams;
use takt_policy::{Crowd, CrowdRole};
use takt_wlan::{
    address_of,
    crowd::{Activity, Member},
};

/// Only what it heard in the network namespace of who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedCrowd {
    /// One as soon as taktd speaks for a policy with `[crowd]`, else none.
    pub neighbourhoods: Vec<Neighbourhood>,
}

/// A group, as seen from here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbourhood {
    /// As `[crowd]` has it.
    pub group: String,
    /// The one on the shared air.
    pub device: String,
    /// `multicast`, `aggregated` or `aggregator`.
    pub role: String,
    /// Between two reports, as the policy wants it.
    pub interval_ms: u64,
    /// Between two reports, as the air allows with as many as are there: that, or more.
    pub report_interval_ms: u64,
    /// Since the device was last found.
    pub reports_sent: u64,
    /// `None` of an aggregator, whose flows go their own way.
    pub share: Option<Share>,
    /// By number.
    pub neighbours: Vec<Neighbour>,
    /// What came to the group's port.
    pub datagrams: Datagrams,
}

/// What this terminal does, and what its flows' bounds go by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Delivered to the other ends, in the last period.
    pub rate_bytes_ps: u32,
    /// That delivered anything.
    pub flows: u16,
    /// Its applications want no more than they get.
    pub lends: bool,
    /// Terminals that use what they can get, itself included.
    pub users: u64,
    /// What each of them has of what all have.
    pub share_bytes_ps: u64,
    /// What all together achieved lately.
    pub capacity_bytes_ps: u64,
}

/// Another terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Made of the first of its addresses, mostly the hardware's.
    pub number: u64,
    /// That address, if the number tells it; else just its digits.
    pub name: String,
    /// `None` if the aggregator told of it.
    pub address: Option<IpAddr>,
    /// As in [`Share`], of itself.
    pub rate_bytes_ps: u32,
    /// Likewise.
    pub flows: u16,
    /// Likewise.
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

//! What taktd has heard of the terminals that share the air.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use takt_algo::Group;
use takt_host::Datagrams;
use takt_policy::{Crowd, CrowdRole};
use takt_wlan::{
    address_of,
    crowd::{Activity, Member, Strangers as Counted},
};

/// Only what was heard in the caller's network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedCrowd {
    /// One if taktd acts for a policy with `[crowd]`, else none.
    pub neighbourhoods: Vec<Neighbourhood>,
}

/// A group, as this host sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbourhood {
    /// The name in `[crowd]`.
    pub group: String,
    /// The device on the shared air.
    pub device: String,
    /// `multicast`, `aggregated` or `aggregator`.
    pub role: String,
    /// Time between two reports, as the policy sets it.
    pub interval_ms: u64,
    /// Time between two reports, as the air allows with this number of terminals: the policy's,
    /// or longer.
    pub report_interval_ms: u64,
    /// Since the device was last found.
    pub reports_sent: u64,
    /// `None` for an aggregator, whose flows are not bounded.
    pub share: Option<Share>,
    /// Sorted by number.
    pub neighbours: Vec<Neighbour>,
    /// What came to the group's port.
    pub datagrams: Datagrams,
    /// As the access point counts them: this host, or that of the aggregator that tells it. `None`:
    /// by multicast, and for an aggregator that is no access point.
    pub strangers: Option<Strangers>,
}

/// Terminals that upload and belong to no group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strangers {
    /// Those that have uploaded for a second, or for four intervals if that is longer.
    pub count: u64,
    /// What they get together.
    pub rate_bytes_ps: u64,
}

/// What this terminal does, and what its flows' bounds are computed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Delivered to the other ends in the last period.
    pub rate_bytes_ps: u32,
    /// Flows that delivered anything.
    pub flows: u16,
    /// Its applications use less than they could get.
    pub lends: bool,
    /// Others fill the queue, so its flows compete with them, without bounds.
    pub competes: bool,
    /// Terminals that use all they can get, this one included.
    pub users: u64,
    /// The share of each of them.
    pub share_bytes_ps: u64,
    /// What all together achieved lately.
    pub capacity_bytes_ps: u64,
    /// What counts of the capacity that the network had before, while a new one is learned.
    pub remembered_bytes_ps: Option<u64>,
}

/// Another terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Made from its first address, usually the hardware's.
    pub number: u64,
    /// That address, if the number contains it; else the number's digits.
    pub name: String,
    /// `None` if the aggregator reported it.
    pub address: Option<IpAddr>,
    /// As in [`Share`], of that terminal.
    pub rate_bytes_ps: u32,
    /// Likewise.
    pub flows: u16,
    /// Likewise.
    pub lends: bool,
    /// Likewise.
    pub competes: bool,
    /// Its mean round trip over the shortest, in thousandths.
    pub rtt_ratio_milli: Option<u32>,
    /// What its packets wait in queues that do not empty.
    pub wait_us: u32,
    /// Since it was last heard of.
    pub age_ms: u64,
}

impl Neighbourhood {
    pub(crate) fn new(crowd: &Crowd) -> Self {
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

impl From<Counted> for Strangers {
    fn from(counted: Counted) -> Self {
        Self {
            count: counted.count.into(),
            rate_bytes_ps: counted.rate_bytes_ps.into(),
        }
    }
}

impl Share {
    pub(crate) fn new(activity: &Activity, group: &Group) -> Self {
        Self {
            rate_bytes_ps: activity.rate_bytes_ps,
            flows: activity.flows,
            lends: activity.lends,
            competes: activity.competes,
            users: group.users(),
            share_bytes_ps: group.share_bytes_ps(),
            capacity_bytes_ps: group.capacity_bytes_ps(),
            remembered_bytes_ps: None,
        }
    }
}

impl Neighbour {
    pub(crate) fn new(now_ns: u64, number: u64, member: &Member) -> Self {
        let Activity {
            rate_bytes_ps,
            flows,
            lends,
            competes,
            rtt_ratio_q8,
            wait_us,
            radio: _,
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
            competes,
            rtt_ratio_milli: Some(milli).filter(|milli| *milli > 0),
            wait_us,
            age_ms: now_ns.saturating_sub(member.heard_ns) / 1_000_000,
        }
    }
}

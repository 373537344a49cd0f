//! The state of this network namespace's crowd.

use serde::Serialize;
use takt_algo::Group;
use takt_policy::CrowdRole;

use super::{
    Crowd, Usage,
    default::{self, TAKT},
    moving::Flows,
    record::{Bounds, look},
};
use crate::{
    error::Error,
    os::{
        OsError,
        namespace::netns_cookie,
        netlink::{Device, Netlink},
        present_name,
    },
    state::source::Source,
};

/// A policy's `[crowd]`, in force.
#[derive(Debug, Serialize)]
pub struct CrowdStatus {
    /// The name of its file.
    pub policy: String,
    /// The name in `[crowd]`.
    pub group: String,
    /// Flows that leave by it are bounded: its name now; of one that is gone, the policy's name.
    pub device: String,
    /// Between two reports, and between two bounds of a flow.
    pub interval_ns: u64,
    /// This host's role in the group.
    pub role: CrowdRole,
    /// `None`: an aggregator bounds nothing.
    pub bounds: Option<BoundsStatus>,
    /// What is wrong, if anything is, and what to do about it.
    pub problem: Option<String>,
}

/// What flows of this host are bounded by, and their totals.
#[derive(Debug, Serialize)]
pub struct BoundsStatus {
    /// The `group`, or each flow's `own round trips` if nothing was heard of the group for
    /// three intervals.
    pub source: &'static str,
    /// What was heard of the group, this host included; `None`: nothing was heard.
    pub heard: Option<HeardGroup>,
    /// Running flows that leave by the device.
    pub flows: u32,
    /// Sockets that receive by the device, and whose window is bounded.
    pub downloads: u32,
    /// Connections of hosts behind this one that receive by the device, and whose windows were cut in
    /// the last interval.
    pub forwarded: u32,
    /// Since the policy came into force.
    pub usage: Usage,
}

/// What bounds are computed from.
#[derive(Debug, Serialize)]
pub struct HeardGroup {
    /// Terminals that use all they can get.
    pub terminals: u64,
    /// The share of each of them.
    pub share_bytes_ps: u64,
    /// What all together achieved lately.
    pub capacity_bytes_ps: u64,
}

/// `None`: no policy with `[crowd]` is in force.
pub(crate) fn status() -> Result<Option<CrowdStatus>, Error> {
    let (record, generation) = look(netns_cookie()?)?;
    let Some(terms) = record
        .as_ref()
        .and_then(|record| record.in_force(generation))
    else {
        return Ok(None);
    };
    let Some(policy) = policy_of(&terms.source) else {
        return Ok(None);
    };
    let bounds = terms.bounds.as_ref();
    let present = present_name(&policy.device)?;
    Ok(Some(CrowdStatus {
        policy: terms.source.name.clone(),
        group: policy.group,
        device: present.unwrap_or(policy.device),
        interval_ns: policy.interval_ns,
        role: policy.role,
        problem: bounds.map(problem).transpose()?.flatten(),
        bounds: bounds.map(bounds_status).transpose()?,
    }))
}

/// This version read it when it was applied, or another version did.
fn policy_of(source: &Source) -> Option<takt_policy::Crowd> {
    let policy = takt_policy::parse_in(&source.folder, &source.name, &source.text);
    policy.ok()?.crowd
}

fn bounds_status(bounds: &Bounds) -> Result<BoundsStatus, Error> {
    let crowd = Crowd::open()?;
    let heard = match &crowd {
        Some(crowd) => crowd.heard(bounds.period_ns)?,
        None => None,
    };
    let usage = match &crowd {
        Some(crowd) => crowd.usage()?,
        None => None,
    };
    let (downloads, forwarded) = match &crowd {
        Some(crowd) => crowd.bounded_downloads()?,
        None => (0, 0),
    };
    let flows = Flows {
        of: TAKT,
        ifindex: Some(bounds.ifindex),
    };
    Ok(BoundsStatus {
        source: match heard {
            Some(_) => "group",
            None => "own round trips",
        },
        heard: heard.map(|group: Group| HeardGroup {
            terminals: group.users(),
            share_bytes_ps: group.share_bytes_ps(),
            capacity_bytes_ps: group.capacity_bytes_ps(),
        }),
        flows: flows.count()?,
        downloads,
        forwarded,
        usage: usage.unwrap_or_default(),
    })
}

fn problem(bounds: &Bounds) -> Result<Option<String>, Error> {
    let devices = Netlink::open().and_then(|mut netlink| Device::list(&mut netlink));
    let devices = devices.map_err(OsError::netlink("listing devices"))?;
    if devices.iter().all(|device| device.index != bounds.ifindex) {
        return Ok(Some(format!(
            "the device {} that flows are bounded on is gone; when it is back, apply the policy again",
            bounds.device
        )));
    }
    let standing = default::read()?;
    Ok((standing != TAKT).then(|| {
        format!(
            "net.ipv4.tcp_congestion_control is {standing}, so new flows have no bounds; `takt apply` \
             sets it to takt again"
        )
    }))
}

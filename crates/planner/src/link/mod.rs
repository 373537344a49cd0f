//! From a link's policy to the tables of its scheduler. Pure: the host is not looked at, and the
//! same policy after the same history gives the same bytes.

mod by_port;
mod classes;
mod error;
mod ids;
mod ports;
mod questions;
mod receive;
mod rules;
mod share;
mod table;

pub(crate) use share::spares_local;
use std::collections::BTreeMap;

use takt_algo::{
    sys::{
        TAKT_BURST_NS, TAKT_CELLS_NONE, TAKT_GAP_LEN_MIN, TAKT_GAP_OVERHEAD_MAX,
        TAKT_HOSTS_DESTINATIONS, TAKT_HOSTS_NONE, TAKT_HOSTS_SOURCES, TAKT_PACING_GAP,
        TAKT_PACING_TIMER, TAKT_PACING_TIMER_GAP, TAKT_READS_ACKS, TAKT_READS_ECN,
        TAKT_STATIONS_MAC, TAKT_STATIONS_NONE, takt_framing, takt_plan,
    },
    zeroed_box,
};
use takt_policy::{BeyondHorizon, Link, Pacing, Question, Sharing};

use crate::{framing::framing, segments::burst_bytes};

pub use by_port::{ByPort, by_port};
pub use classes::ClassIds;
pub use error::PlanError;
pub use questions::Questions;
pub use receive::open as open_receive;

/// 64 frames, as many as a block acknowledgement of 802.11n and 802.11ac is for (802.11n-2009,
/// 7.2.1.8.3).
const TRANSMISSION_BYTES: u32 = 64 * 1514;

/// A link's policy, ready for the kernel.
pub struct Plan {
    /// The tables of the qdisc.
    pub tables: Box<takt_plan>,
    /// The tables of the device that incoming background packets are sent through; `None` if there
    /// are none.
    pub receive: Option<Box<takt_plan>>,
    /// The ids of every name, so that a later plan keeps the queues.
    pub ids: ClassIds,
}

/// How late the link's timer may be.
pub(crate) fn slack_ns(link: &Link) -> u32 {
    u32::try_from(link.slack_ns).unwrap_or(u32::MAX)
}

/// Plan `link`, a part of the policy that asks `questions`. Stations are known by MAC, as on
/// devices with Ethernet headers. Classes and tenants that `before` has keep their ids, and with
/// them their queues, clocks and counters. Those that were removed stay in the plan until their
/// queues are empty; no packet is queued in them.
pub fn plan(link: &Link, before: &ClassIds, questions: &Questions) -> Result<Plan, PlanError> {
    let framing = framing(link.framing);
    if link.pacing.fills_gaps() {
        check_gap_frames(&framing)?;
    }
    let ids = before.assign(link);
    let mut tables = zeroed_box::<takt_plan>();
    tables.link.rate_bps = link.rate_bps;
    tables.by_device = link.by_device.into();
    tables.link.lag_max_ns = link.lag_max_ns;
    tables.framing = framing;
    if let Some(autorate) = &link.autorate {
        tables.line_min_bps = autorate.min_bps;
        tables.line_max_bps = autorate.max_bps;
    }
    tables.reads =
        u32::from(link.ecn) * TAKT_READS_ECN + u32::from(link.thins_acks) * TAKT_READS_ACKS;
    tables.horizon_ns = link.horizon_ns;
    tables.horizon_caps = u32::from(link.beyond_horizon == BeyondHorizon::Cap);
    // Gaps are exact; where a timer stands in for them it is to be.
    tables.slack_ns = match link.pacing {
        Pacing::Timer => slack_ns(link),
        Pacing::Gap | Pacing::TimerGap => 0,
    };
    tables.pacing = match link.pacing {
        Pacing::Timer => TAKT_PACING_TIMER,
        Pacing::Gap => TAKT_PACING_GAP,
        Pacing::TimerGap => TAKT_PACING_TIMER_GAP,
    };

    tables.stations = if link.has_stations {
        TAKT_STATIONS_MAC
    } else {
        TAKT_STATIONS_NONE
    };
    tables.station_burst_bytes = station_burst_bytes(link);

    tables.incoming = link.download_of.is_some().into();
    tables.hosts = match link.share {
        Sharing::Flows => TAKT_HOSTS_NONE,
        Sharing::Sources => TAKT_HOSTS_SOURCES,
        Sharing::Destinations => TAKT_HOSTS_DESTINATIONS,
    };

    for id in ids.leaving() {
        tables.class_params[id as usize] = share::of_leaving();
    }
    for tenant in &link.tenants {
        let id = ids.tenant_id(&tenant.name).unwrap_or_default();
        let node = ids.node(&tenant.name).unwrap_or_default();
        tables.tenant[node as usize] = id as u16;
        tables.class_params[id as usize] = share::of_tenant(tenant, link.most_bps());
        tables.class_params[id as usize].heads = node as u8;
    }
    let mut found = BTreeMap::new();
    let mut order = 0;
    for class in &link.classes {
        let id = ids.id(&class.name).unwrap_or_default();
        let tenant = class.tenant.as_deref();
        let node = tenant.and_then(|name| ids.node(name)).unwrap_or_default();
        tables.class_params[id as usize] = share::of_class(class, link.most_bps());
        tables.class_params[id as usize].node = node as u8;
        tables.class_params[id as usize].burst_bytes = burst_bytes(link, class);
        if let Some(dscp) = link.dscp_of(class) {
            tables.rules.dscp[id as usize] = dscp + 1;
            tables.rules.sets_dscp = 1;
        }
        if class.is_default {
            tables.rules.default_class = id;
        }
        for entry in &class.matches {
            rules::expand(entry, order, id as u16, questions, &mut found)?;
            order += 1;
        }
    }
    tables.registered = link
        .classes
        .iter()
        .flat_map(|class| &class.matches)
        .any(|entry| entry.registered)
        .then(|| questions.bit(&Question::Registered))
        .flatten()
        .map_or(0, |bit| 1 << bit);
    tables.flows = tables
        .class_params
        .iter()
        .any(|class| class.per_flow != 0)
        .into();
    tables.gated = tables
        .class_params
        .iter()
        .any(|class| class.gated != 0)
        .into();
    tables.sticky = is_sticky(link).into();
    tables.fast_by_connection = is_fast_by_connection(&tables).into();
    table::lay_out(found, &mut tables.rules)?;
    Ok(Plan {
        tables,
        receive: receive::plan(link, &ids),
        ids,
    })
}

/// What a station of full weight is sent before it is another one's turn: what fits into one
/// transmission of the radio, and on a slower link what that carries in a burst's time.
fn station_burst_bytes(link: &Link) -> u32 {
    const NS_PER_S: u64 = 1_000_000_000;
    if !link.has_stations {
        return 0;
    }
    let bytes = u128::from(link.most_bps()) * u128::from(TAKT_BURST_NS) / u128::from(8 * NS_PER_S);
    bytes.min(TRANSMISSION_BYTES.into()) as u32
}

/// Gap frames are Ethernet's: the shortest one is no shorter than any frame of the line.
fn check_gap_frames(framing: &takt_framing) -> Result<(), PlanError> {
    let overhead_bytes = framing.overhead_bytes;
    if overhead_bytes > TAKT_GAP_OVERHEAD_MAX as i32 {
        return Err(PlanError::GapOverhead { overhead_bytes });
    }
    let shortest = TAKT_GAP_LEN_MIN as i32 + overhead_bytes;
    let is_ethernets = overhead_bytes >= 0
        && i32::from(framing.least_bytes) <= shortest
        && u32::from(framing.cells) == TAKT_CELLS_NONE;
    if is_ethernets {
        Ok(())
    } else {
        Err(PlanError::GapFraming)
    }
}

/// Whether a packet's connection is all that decides what becomes of it on an empty link.
fn is_fast_by_connection(tables: &takt_plan) -> bool {
    let others = tables.stations
        | tables.gated
        | tables.registered
        | tables.reads
        | tables.incoming
        | tables.by_device;
    tables.sticky != 0 && others == 0 && tables.pacing == TAKT_PACING_TIMER
}

/// The links that do not fit the kernel's tables on any host, and why.
pub fn unplannable(links: &[Link]) -> impl Iterator<Item = (&Link, PlanError)> {
    let questions = Questions::of(links);
    links.iter().filter_map(move |link| {
        let problem = plan(link, &ClassIds::default(), &questions).err()?;
        Some((link, problem))
    })
}

/// Whether all packets of a connection go the same way. The fields of a connection's packets may
/// differ. Its owner may change: it is the listener's until it is accepted. A station may become
/// reachable through another one. All else stays.
fn is_sticky(link: &Link) -> bool {
    let mut matches = link.classes.iter().flat_map(|class| &class.matches);
    !link.has_stations
        && matches.all(|entry| {
            entry.dscp.is_none() && entry.mark.is_none() && entry.questions().next().is_none()
        })
}

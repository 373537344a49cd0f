//! Links: entries that can never match, duplicates, guarantees beyond the link.

mod aqm;
mod autorate;
mod background;
mod by_device;
mod count;
mod cover;
mod download;
mod names;
mod questions;
mod rates;
mod shadow;
mod tenants;
pub(crate) mod terms;
#[cfg(test)]
mod tests;
mod tuple_space;

use crate::findings::Findings;
use crate::model::fastest_bps;
use crate::read::{
    BURST_OF_CLASS_NS, BURST_SHARED_TIMES, PRIORITY_REST, ReadClass, ReadLink, ReadTenant,
    WEIGHT_DEFAULT_MILLI, bps_of, slack_default_ns,
};
use crate::source::{Source, Span};
use crate::{Aqm, AqmKind, Class, DEFAULT_CLASS, Link, Tenant};

pub(in crate::check) use questions::users;

const QUEUE_DEFAULT_PACKETS: u16 = 1000;
/// All flows of the class share it, and CoDel keeps their queues short: it is for bursts. A flow
/// alone gets two thirds, which is a round trip of 160 ms at 200 Mbit/s.
const QUEUE_DEFAULT_OF_TURNS_PACKETS: u16 = 4000;
/// Of each flow or station.
const QUEUE_DEFAULT_OF_MANY_PACKETS: u16 = 100;

pub(super) fn check(
    links: &mut [ReadLink],
    has_stations: impl Fn(&ReadLink) -> bool,
    source: &Source,
    findings: &mut Findings,
) {
    for link in &mut *links {
        let stations = has_stations(link);
        check_one(link, stations, source, findings);
        if let Some(download) = &mut link.download {
            check_one(download, false, source, findings);
        }
        download::check(link, findings);
        autorate::check(link, findings);
        by_device::check(link, findings);
    }
    questions::check(links, findings);
    count::check(links, findings);
}

fn check_one(link: &mut ReadLink, has_stations: bool, source: &Source, findings: &mut Findings) {
    names::check(link, findings);
    tenants::check(link, findings);
    terms::check(link, findings);
    shadow::check(link, source, findings);
    rates::check(link, has_stations, findings);
    background::check(link, findings);
    aqm::check(link, findings);
}

/// The models of a link and of its download, with every default filled in, and where they are named.
pub(super) fn resolve(
    has_stations: bool,
    thins_acks: bool,
    mut link: ReadLink,
) -> Vec<(Span, Link)> {
    let span = link.device_span.clone();
    let download = link.download.take();
    let mut link = resolve_one(has_stations, thins_acks, link);
    let Some(download) = download else {
        return vec![(span, link)];
    };
    let of_download = download.device_span.clone();
    let is_divided = download::is_divided_by_itself(&download);
    let own = resolve_one(false, false, *download);
    let download = download::resolve(&link, own, is_divided);
    // What comes in waits in the download.
    for class in &mut link.classes {
        class.receive = false;
    }
    vec![(span, link), (of_download, download)]
}

/// What defaults of classes follow from.
struct OfLink {
    has_stations: bool,
    /// Its rate; of a line that changes, the least.
    slowest_bps: u64,
    burst_ns: u64,
}

fn resolve_one(has_stations: bool, thins_acks: bool, link: ReadLink) -> Link {
    let autorate = autorate::resolve(&link);
    // Without a rate an error has been reported, and the model is not handed out.
    let rate_bps = link.rate_bps.unwrap_or_default();
    let of_link = OfLink {
        has_stations,
        slowest_bps: autorate.as_ref().map_or(rate_bps, |line| line.min_bps),
        burst_ns: link.burst_ns,
    };
    let mut classes: Vec<Class> = { link.classes.into_iter() }
        .map(|class| resolve_class(&of_link, class))
        .collect();
    if !classes.iter().any(|class| class.is_default) {
        classes.push(implicit_default(&of_link, link.line));
    }
    let fastest_bps = fastest_bps(&classes, rate_bps);
    Link {
        device: link.device,
        rate_bps,
        by_device: link.by_device,
        autorate,
        framing: link.framing,
        pacing: link.pacing,
        packets: link.packets,
        burst_ns: link.burst_ns,
        lag_max_ns: link.lag_max_ns,
        slack_ns: link
            .slack_ns
            .unwrap_or_else(|| slack_default_ns(fastest_bps)),
        horizon_ns: link.horizon_ns,
        beyond_horizon: link.beyond_horizon,
        ecn: link.ecn,
        thins_acks: thins_acks || link.thins_acks,
        share: link.share,
        wash: link.wash,
        on_conflict: link.on_conflict,
        backend: link.backend,
        has_stations,
        download_of: None,
        tenants: link.tenants.into_iter().map(resolve_tenant).collect(),
        classes,
    }
}

/// How long a segment may occupy the pace of a class that does not say so, by its link's.
fn burst_default_ns(per_flow: bool, of_link_ns: u64) -> u64 {
    let times = if per_flow { 1 } else { BURST_SHARED_TIMES };
    // As for a class that says so.
    (times * of_link_ns).clamp(*BURST_OF_CLASS_NS.start(), *BURST_OF_CLASS_NS.end())
}

fn implicit_default(of_link: &OfLink, line: usize) -> Class {
    let aqm = aqm::implicit(of_link.has_stations, of_link.slowest_bps);
    Class {
        name: DEFAULT_CLASS.to_owned(),
        tenant: None,
        rate_bps: None,
        ceil_bps: None,
        weight_milli: WEIGHT_DEFAULT_MILLI,
        floor_bps: None,
        priority: PRIORITY_REST,
        per_flow: false,
        queue_packets: queue_default(false, of_link.has_stations, aqm),
        burst_ns: burst_default_ns(false, of_link.burst_ns),
        aqm,
        gate: None,
        receive: false,
        best_effort: false,
        set_dscp: None,
        matches: Vec::new(),
        is_default: true,
        line,
    }
}

fn resolve_tenant(tenant: ReadTenant) -> Tenant {
    let share = tenant.share;
    Tenant {
        name: tenant.name.unwrap_or_default(),
        rate_bps: bps_of(&share.rate),
        ceil_bps: share.limit().and_then(|limit| limit.bps),
        weight_milli: share.weight_milli(),
        floor_bps: bps_of(&share.floor),
        priority: share.priority(),
        line: tenant.line,
    }
}

/// The limit of a queue that the policy does not limit.
fn queue_default(per_flow: bool, has_stations: bool, aqm: Aqm) -> u16 {
    match aqm.kind {
        _ if per_flow || has_stations => QUEUE_DEFAULT_OF_MANY_PACKETS,
        AqmKind::FqCodel => QUEUE_DEFAULT_OF_TURNS_PACKETS,
        AqmKind::Off | AqmKind::Codel => QUEUE_DEFAULT_PACKETS,
    }
}

fn resolve_class(of_link: &OfLink, class: ReadClass) -> Class {
    let is_default = class.is_default();
    let gate = background::gate(&class);
    let aqm = aqm::resolve(&class, of_link.has_stations, of_link.slowest_bps);
    let receive = background::receive(&class);
    let queue_default = queue_default(class.per_flow, of_link.has_stations, aqm);
    let share = class.share;
    Class {
        name: class.name.unwrap_or_default(),
        tenant: class.tenant.map(|(name, _)| name),
        rate_bps: bps_of(&share.rate),
        ceil_bps: share.limit().and_then(|limit| limit.bps),
        weight_milli: share.weight_milli(),
        floor_bps: bps_of(&share.floor),
        priority: share.priority(),
        per_flow: class.per_flow,
        queue_packets: class.queue_packets.unwrap_or(queue_default),
        burst_ns: class
            .burst_ns
            .unwrap_or_else(|| burst_default_ns(class.per_flow, of_link.burst_ns)),
        aqm,
        gate,
        receive,
        best_effort: class.best_effort,
        set_dscp: class.set_dscp,
        matches: class.matches.into_iter().map(|entry| entry.terms).collect(),
        is_default,
        line: class.line,
    }
}

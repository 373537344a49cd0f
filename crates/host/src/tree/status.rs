//! A tree's counters, which the kernel keeps, in the form of any link's.

use takt_planner::tree::minor_of;
use takt_policy::{AqmKind, Backend, Class, Link, parse_in};

use super::{
    record::TreeRecord,
    standing::{Standing, handle_of},
};
use crate::{
    error::Error,
    link::{
        AqmStatus, ClassStatus, ConflictStatus, Conflicts, Counters, DepartureStatus, DeviceState,
        FlowTotals, LinkStatus, Share, TenantStatus,
    },
    os::{
        OsError,
        netlink::{Port, TcCounters},
    },
    part::Host,
};

/// What the kernel has counted on a device.
#[derive(Default)]
struct Counted {
    classes: Vec<TcCounters>,
    qdiscs: Vec<TcCounters>,
}

impl Counted {
    fn read(host: &mut Host, device: u32) -> Result<Self, Error> {
        let failed = || OsError::netlink("reading the counters of classes");
        Ok(Self {
            classes: TcCounters::of_classes(&mut host.netlink, device).map_err(failed())?,
            qdiscs: TcCounters::of_qdiscs(&mut host.netlink, device).map_err(failed())?,
        })
    }

    fn class(&self, id: u32) -> TcCounters {
        let handle = handle_of(minor_of(id)).0;
        let mut classes = self.classes.iter();
        classes
            .find(|class| class.handle == handle)
            .copied()
            .unwrap_or_default()
    }

    /// The queue below a class.
    fn leaf(&self, id: u32) -> TcCounters {
        let handle = handle_of(minor_of(id)).0;
        let mut qdiscs = self.qdiscs.iter();
        qdiscs
            .find(|qdisc| qdisc.parent == handle)
            .copied()
            .unwrap_or_default()
    }
}

/// The link of this record; `standing`: its tree, if that is in force.
pub(super) fn of_tree(
    host: &mut Host,
    record: &TreeRecord,
    port: Option<&Port>,
    standing: Option<&Standing>,
) -> Result<LinkStatus, Error> {
    let stands = standing.is_some();
    let counted = match stands {
        true => Counted::read(host, record.ifindex)?,
        false => Counted::default(),
    };
    // The same program read it when it was applied.
    let source = &record.source;
    let policy = parse_in(&source.folder, &source.name, &source.text).ok();
    let link = policy.as_ref().and_then(|policy| {
        let mut links = policy.links.iter();
        links.find(|link| link.device == record.device)
    });
    let conflict = match port {
        Some(port) if !stands => {
            let known = Conflicts::read(host.netns_cookie)?;
            Some(ConflictStatus::of(
                &known,
                record.ifindex,
                port.describe_root(),
            ))
        }
        _ => None,
    };
    let problem = match (&conflict, port) {
        (Some(conflict), _) => Some(format!(
            "{conflict}; `takt apply` puts takt back, `takt revert` forgets it"
        )),
        (None, None) => Some(
            "the device is gone; `takt apply` serves it when it is back, `takt revert` forgets it"
                .to_owned(),
        ),
        (None, Some(_)) => standing
            .filter(|standing| standing.is_unfinished)
            .map(|_| "a takt died while it changed the link; `takt apply` completes it".to_owned()),
    };
    let classes: Vec<ClassStatus> = link
        .into_iter()
        .flat_map(|link| by_name(&link.classes).map(move |class| (link, class)))
        .map(|(link, class)| class_status(link, class, record, &counted))
        .collect();
    Ok(LinkStatus {
        device: port.map_or_else(|| record.device.clone(), |port| port.device.name.clone()),
        backend: Backend::Tree,
        unkept: record.unkept.clone(),
        attached: stands,
        device_state: port.map(|port| DeviceState::of(&port.device)),
        problem,
        conflict,
        generation: record.generation,
        policy: Some(source.name.clone()),
        rate_bps: record.rate_bps,
        overhead_bytes: record.overhead_bytes,
        lag_max_ns: link.map_or(0, |link| link.lag_max_ns),
        pacing: "timer",
        gap: None,
        background: None,
        queued_packets: classes.iter().map(|class| class.queued_packets).sum(),
        device_buffer: None,
        receive: None,
        tenants: link
            .map(|link| tenants(link, record, &counted))
            .unwrap_or_default(),
        classes,
        flow_totals: FlowTotals::default(),
        departures: DepartureStatus::default(),
        radio: None,
        flows: None,
    })
}

fn by_name(classes: &[Class]) -> impl Iterator<Item = &Class> {
    let mut classes: Vec<&Class> = classes.iter().collect();
    classes.sort_by(|a, b| a.name.cmp(&b.name));
    classes.into_iter()
}

fn class_status(link: &Link, class: &Class, record: &TreeRecord, counted: &Counted) -> ClassStatus {
    let id = record.ids.id(&class.name).unwrap_or_default();
    let (own, leaf) = (counted.class(id), counted.leaf(id));
    let overhead = |packets: u64| packets * u64::from(record.overhead_bytes);
    let tenant = class.tenant.as_ref().and_then(|name| {
        let mut tenants = link.tenants.iter();
        tenants.find(|tenant| tenant.name == *name)
    });
    let ceilings = [class.ceil_bps, tenant.and_then(|tenant| tenant.ceil_bps)];
    let managed = leaf.dropped_packets.saturating_sub(leaf.dropped_for_room);
    let is_managed = class.aqm.kind != AqmKind::Off;
    ClassStatus {
        name: class.name.clone(),
        tenant: class.tenant.clone(),
        share: Share {
            rate_bps: class.rate_bps.unwrap_or(0),
            ceil_bps: ceilings.into_iter().flatten().fold(link.rate_bps, u64::min),
            weight: class.weight_milli as f64 / 1000.0,
            floor_bps: class.floor_bps.unwrap_or(0),
            priority: class.priority.into(),
        },
        per_flow: false,
        flows: 0,
        queue_limit_packets: class.queue_packets,
        aqm: is_managed.then_some(AqmStatus {
            flow_queues: class.aqm.kind == AqmKind::FqCodel,
            target_ns: class.aqm.target_ns,
            interval_ns: class.aqm.interval_ns,
        }),
        queued_packets: own.queued_packets,
        queued_bytes: own.queued_bytes + overhead(own.queued_packets.into()),
        counters: Counters {
            enqueued_packets: own.sent_packets + u64::from(own.queued_packets),
            enqueued_bytes: own.sent_bytes
                + own.queued_bytes
                + overhead(own.sent_packets + u64::from(own.queued_packets)),
            sent_packets: own.sent_packets,
            sent_bytes: own.sent_bytes + overhead(own.sent_packets),
            dropped_packets: leaf.dropped_packets,
            aqm_dropped_packets: if is_managed { managed } else { 0 },
            aqm_marked_packets: leaf.marked_packets,
            ..Counters::default()
        },
        receive: None,
    }
}

fn tenants(link: &Link, record: &TreeRecord, counted: &Counted) -> Vec<TenantStatus> {
    let mut tenants: Vec<_> = link.tenants.iter().collect();
    tenants.sort_by(|a, b| a.name.cmp(&b.name));
    tenants
        .into_iter()
        .map(|tenant| {
            let id = record.ids.tenant_id(&tenant.name).unwrap_or_default();
            let own = counted.class(id);
            TenantStatus {
                name: tenant.name.clone(),
                share: Share {
                    rate_bps: tenant.rate_bps.unwrap_or(0),
                    ceil_bps: tenant.ceil_bps.unwrap_or(link.rate_bps).min(link.rate_bps),
                    weight: tenant.weight_milli as f64 / 1000.0,
                    floor_bps: tenant.floor_bps.unwrap_or(0),
                    priority: tenant.priority.into(),
                },
                sent_packets: own.sent_packets,
                sent_bytes: own.sent_bytes + own.sent_packets * u64::from(record.overhead_bytes),
            }
        })
        .collect()
}

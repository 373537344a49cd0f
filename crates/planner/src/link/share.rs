//! Rates, ceilings and weights of a class or a tenant, in the scheduler's form.

use takt_algo::sys::{
    TAKT_PER_FLOW_CLOCKS, TAKT_PER_FLOW_NOTHING, TAKT_PER_FLOW_QUEUE, TAKT_WEIGHT_UNIT_BPS,
    takt_class_params,
};
use takt_policy::{AqmKind, Class, Gate, Tenant};

/// Of a class, without its node.
pub(super) fn of_class(class: &Class, link_most_bps: u64) -> takt_class_params {
    let managed = |ns| match class.aqm.kind {
        AqmKind::Off => 0,
        AqmKind::Codel | AqmKind::FqCodel => ns,
    };
    takt_class_params {
        rate_bps: class.rate_bps.unwrap_or(0),
        ceil_bps: ceil_bps(class.rate_bps, class.ceil_bps, link_most_bps),
        weight_bps: weight_bps(class.weight_milli),
        floor_bps: class.floor_bps.unwrap_or(0),
        target_ns: managed(class.aqm.target_ns),
        interval_ns: managed(class.aqm.interval_ns),
        spares_local: spares_local(class).into(),
        queue_packets: class.queue_packets,
        gated: (class.gate == Some(Gate::Sender)).into(),
        priority: class.priority,
        per_flow: per_flow(class),
        receive: class.receive.into(),
        ..Default::default()
    }
}

/// Whether its senders on this host are pushed back, and queue management drops none of their
/// packets.
pub(crate) fn spares_local(class: &Class) -> bool {
    class.rate_bps.is_some() || class.ceil_bps.is_some() || class.gate.is_some()
}

fn per_flow(class: &Class) -> u8 {
    let per_flow = match class.aqm.kind {
        _ if class.per_flow => TAKT_PER_FLOW_CLOCKS,
        AqmKind::FqCodel => TAKT_PER_FLOW_QUEUE,
        AqmKind::Off | AqmKind::Codel => TAKT_PER_FLOW_NOTHING,
    };
    per_flow as u8
}

/// Of a tenant, without its node.
pub(super) fn of_tenant(tenant: &Tenant, link_most_bps: u64) -> takt_class_params {
    takt_class_params {
        rate_bps: tenant.rate_bps.unwrap_or(0),
        ceil_bps: ceil_bps(tenant.rate_bps, tenant.ceil_bps, link_most_bps),
        weight_bps: weight_bps(tenant.weight_milli),
        floor_bps: tenant.floor_bps.unwrap_or(0),
        priority: tenant.priority,
        ..Default::default()
    }
}

/// Of a class or tenant that was removed from the policy: it drains with spare capacity.
pub(super) fn of_leaving() -> takt_class_params {
    takt_class_params {
        weight_bps: TAKT_WEIGHT_UNIT_BPS.into(),
        priority: LEAVING_PRIORITY,
        ..Default::default()
    }
}

const LEAVING_PRIORITY: u8 = 6;

/// The link's own clock limits all classes, so a ceiling at the most it has needs no clock of its own. A
/// class that is paced at its rate keeps its clock.
fn ceil_bps(rate_bps: Option<u64>, ceil_bps: Option<u64>, link_most_bps: u64) -> u64 {
    match ceil_bps {
        Some(bps) if bps < link_most_bps || rate_bps == Some(bps) => bps,
        _ => 0,
    }
}

fn weight_bps(weight_milli: u64) -> u64 {
    weight_milli * u64::from(TAKT_WEIGHT_UNIT_BPS) / 1000
}

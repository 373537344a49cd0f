//! The plan of the device that incoming background packets are sent through. It has a gate and an
//! order, and no rate limits.

use takt_algo::{sys::takt_plan, zeroed_box};
use takt_policy::{BeyondHorizon, Link};

use super::{ClassIds, share};

/// The highest rate of a plan: incoming packets are not limited.
const RATE_BPS: u64 = 400_000_000_000;

/// Flows share their class's queue here, so the limit of one flow is too small.
const QUEUE_PACKETS_MIN: u16 = 1000;

/// `None` if no class receives. Its classes have the ids that they have on the link; classes with
/// other ids take no packets and drain.
pub(super) fn plan(link: &Link, ids: &ClassIds) -> Option<Box<takt_plan>> {
    let receiving = || link.classes.iter().filter(|class| class.receive);
    receiving().next()?;
    let mut tables = zeroed_box::<takt_plan>();
    tables.receives = 1;
    tables.link.rate_bps = RATE_BPS;
    tables.link.lag_max_ns = link.lag_max_ns;
    tables.slack_ns = super::slack_ns(link);
    tables.horizon_ns = link.horizon_ns;
    tables.horizon_caps = u32::from(link.beyond_horizon == BeyondHorizon::Cap);
    let known = ids.classes().chain(ids.tenants()).map(|(_, id)| id);
    for id in known.chain(ids.leaving()) {
        tables.class_params[id as usize] = share::of_leaving();
    }
    for class in receiving() {
        let id = ids.id(&class.name).unwrap_or_default();
        let mut params = share::of_class(class, RATE_BPS);
        (params.rate_bps, params.ceil_bps) = (0, 0);
        (params.per_flow, params.receive) = (0, 0);
        (params.target_ns, params.interval_ns) = (0, 0);
        params.queue_packets = params.queue_packets.max(QUEUE_PACKETS_MIN);
        tables.class_params[id as usize] = params;
        tables.gated |= u32::from(params.gated);
        // Packets of a class that was removed go here.
        tables.rules.default_class = id;
    }
    Some(tables)
}

/// The same plan with its gate open, so that its queues drain.
pub fn open(plan: &mut takt_plan) {
    plan.gated = 0;
    for params in &mut plan.class_params {
        params.gated = 0;
    }
}

//! The plan of the device that incoming packets in the background are sent
//! through: it gates and orders, and limits nothing.

use takt_algo::{sys::takt_plan, zeroed_box};
use takt_policy::Link;

use crate::{ClassIds, share};

/// As fast as a plan can be: what comes in has paid for its way already.
const RATE_BPS: u64 = 400_000_000_000;

/// Flows share their class's queue here, so what a flow may queue is too little.
const QUEUE_PACKETS_MIN: u16 = 1000;

/// `None` if no class receives. Its classes have the ids that they have on the
/// link; all other ids take nothing in and let out what they still hold.
pub(crate) fn plan(link: &Link, ids: &ClassIds) -> Option<Box<takt_plan>> {
    let receiving = || link.classes.iter().filter(|class| class.receive);
    receiving().next()?;
    let mut tables = zeroed_box::<takt_plan>();
    tables.receives = 1;
    tables.link.rate_bps = RATE_BPS;
    tables.link.lag_max_ns = link.lag_max_ns;
    let known = ids.classes().chain(ids.tenants()).map(|(_, id)| id);
    for id in known.chain(ids.leaving()) {
        tables.class_params[id as usize] = share::of_leaving();
    }
    for class in receiving() {
        let id = ids.id(&class.name).unwrap_or_default();
        let mut params = share::of_class(class, RATE_BPS);
        (params.rate_bps, params.ceil_bps) = (0, 0);
        (params.per_flow, params.receive) = (0, 0);
        params.queue_packets = params.queue_packets.max(QUEUE_PACKETS_MIN);
        tables.class_params[id as usize] = params;
        tables.gated |= u32::from(params.gated);
        // Whoever has just left the plan goes here.
        tables.rules.default_class = id;
    }
    Some(tables)
}

/// The same plan with its gate open, so that nothing stays in its queues.
pub fn open(plan: &mut takt_plan) {
    plan.gated = 0;
    for params in &mut plan.class_params {
        params.gated = 0;
    }
}

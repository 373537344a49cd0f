//! From a link's policy to the tables its scheduler runs on. Pure: the host is
//! not looked at, and the same policy after the same history gives the same
//! bytes.

mod classes;
mod error;
mod ports;
mod rules;
mod table;

use std::collections::BTreeMap;

use takt_algo::{
    sys::{TAKT_WEIGHT_UNIT_BPS, takt_class_params, takt_plan},
    zeroed_box,
};
use takt_policy::Link;

pub use classes::ClassIds;
pub use error::PlanError;

/// A link's policy, ready for the kernel.
pub struct Plan {
    /// What the qdisc reads.
    pub tables: Box<takt_plan>,
    /// The class id of every name, so that a later plan keeps queues in place.
    pub ids: ClassIds,
}

/// Plan `link`. Classes that `before` knows keep their ids, and with them
/// their queues, clocks and counters. Classes that are gone keep a place in the
/// plan too, which takes nothing in and lets out what is still queued.
pub fn plan(link: &Link, before: &ClassIds) -> Result<Plan, PlanError> {
    let ids = before.assign(link.classes.iter().map(|class| class.name.as_str()));
    let mut tables = zeroed_box::<takt_plan>();
    tables.link.rate_bps = link.rate_bps;
    tables.link.lag_max_ns = link.lag_max_ns;
    tables.overhead_bytes = link.overhead_bytes;

    for id in ids.leaving() {
        tables.class_params[id as usize] = takt_class_params {
            ceil_bps: link.rate_bps,
            weight_bps: TAKT_WEIGHT_UNIT_BPS.into(),
            priority: LEAVING_PRIORITY,
            ..Default::default()
        };
    }
    let mut found = BTreeMap::new();
    let mut order = 0;
    for class in &link.classes {
        let id = ids.id(&class.name).unwrap_or_default();
        tables.class_params[id as usize] = takt_class_params {
            rate_bps: class.rate_bps,
            ceil_bps: class.rate_bps,
            weight_bps: class.rate_bps,
            queue_packets: class.queue_packets,
            priority: class.priority,
            ..Default::default()
        };
        if class.is_default {
            tables.rules.default_class = id;
        }
        for entry in &class.matches {
            rules::expand(entry, order, id as u16, &mut found)?;
            order += 1;
        }
    }
    // What a packet carries may differ within a connection; all else stays.
    tables.sticky = link
        .classes
        .iter()
        .flat_map(|class| &class.matches)
        .all(|entry| entry.dscp.is_none() && entry.mark.is_none())
        .into();
    table::lay_out(found, &mut tables.rules)?;
    Ok(Plan { tables, ids })
}

/// A class that left the policy drains with what is left of the link.
const LEAVING_PRIORITY: u8 = 6;

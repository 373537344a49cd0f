//! Plans for tests, written down in one line.

use takt_algo::{
    sys::{takt_class_params, takt_plan},
    zeroed_box,
};

pub const QUEUE_PACKETS: u32 = 1000;

/// A link of this rate without classes.
pub fn link(rate_bps: u64) -> Box<takt_plan> {
    let mut plan = zeroed_box::<takt_plan>();
    plan.link.rate_bps = rate_bps;
    plan.link.lag_max_ns = 10_000_000;
    plan
}

pub fn class(rate_bps: u64, priority: u8) -> takt_class_params {
    takt_class_params {
        rate_bps,
        ceil_bps: rate_bps,
        weight_bps: rate_bps,
        queue_packets: QUEUE_PACKETS,
        priority,
        ..takt_class_params::default()
    }
}

/// A link with classes 1, 2, 3 … of these rates, all of one priority.
pub fn equals(link_bps: u64, classes_bps: &[u64]) -> Box<takt_plan> {
    let mut plan = link(link_bps);
    for (params, rate_bps) in plan.class_params[1..].iter_mut().zip(classes_bps) {
        *params = class(*rate_bps, 0);
    }
    plan
}

//! Short notation for the plans of tests.

use takt_algo::{
    sys::{self, takt_class_params, takt_plan},
    zeroed_box,
};

pub const QUEUE_PACKETS: u16 = 1000;
pub const MBIT: u64 = 1_000_000;

/// A link of this rate without classes.
pub fn link(rate_bps: u64) -> Box<takt_plan> {
    let mut plan = zeroed_box::<takt_plan>();
    plan.generation = 1;
    plan.link.rate_bps = rate_bps;
    plan.link.lag_max_ns = 10_000_000;
    plan
}

/// Paced at its rate: it cannot borrow.
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

/// Guaranteed `rate_bps`, up to `ceil_bps` (0: as much as the link has).
pub fn borrower(rate_bps: u64, ceil_bps: u64) -> takt_class_params {
    takt_class_params {
        ceil_bps,
        ..class(rate_bps, 3)
    }
}

/// Nothing is guaranteed, and only the link limits it.
pub fn best_effort(weight_bps: u64, priority: u8) -> takt_class_params {
    takt_class_params {
        rate_bps: 0,
        ceil_bps: 0,
        ..class(weight_bps, priority)
    }
}

/// A class or tenant that left the policy.
pub fn leaving() -> takt_class_params {
    takt_class_params {
        queue_packets: 0,
        ..best_effort(sys::TAKT_WEIGHT_UNIT_BPS.into(), 6)
    }
}

/// A link with classes 1, 2, 3 … like these.
pub fn of(link_bps: u64, classes: &[takt_class_params]) -> Box<takt_plan> {
    let mut plan = link(link_bps);
    plan.class_params[1..=classes.len()].copy_from_slice(classes);
    plan
}

/// A link with classes 1, 2, 3 … of these rates, all of one priority.
pub fn equals(link_bps: u64, classes_bps: &[u64]) -> Box<takt_plan> {
    let classes: Vec<_> = classes_bps
        .iter()
        .map(|rate_bps| class(*rate_bps, 0))
        .collect();
    of(link_bps, &classes)
}

/// Makes `id` a tenant that shares `params` among these classes.
pub fn tenant(plan: &mut takt_plan, id: u32, node: u8, params: takt_class_params, classes: &[u32]) {
    plan.tenant[usize::from(node)] = id as u16;
    plan.class_params[id as usize] = takt_class_params {
        queue_packets: 0,
        heads: node,
        ..params
    };
    for class in classes {
        plan.class_params[*class as usize].node = node;
    }
}

//! Time-slot tables: their guarantees, and that no feasible demand is refused.

mod alone;
mod brute;
mod cases;
mod properties;
mod refusals;
mod sound;

use takt_planner::beats::{Demand, Host};
use takt_policy::ExactTime;

pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn host(cpus: u32, grid_ns: impl Into<ExactTime>, free_ppm: u32) -> Host {
    Host {
        cpus: (0..cpus).collect(),
        grid_ns: grid_ns.into(),
        free_ppm,
    }
}

/// Period and budget in milliseconds.
pub(crate) fn demand(name: &str, period_ms: u64, budget_ms: u64) -> Demand {
    Demand {
        name: name.to_owned(),
        period_ns: (period_ms * MS).into(),
        budget_ns: budget_ms * MS,
        lead_ns: 0,
        offset_ns: None,
        cpus: None,
        is_group: false,
        standing: None,
    }
}

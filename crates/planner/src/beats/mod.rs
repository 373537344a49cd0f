//! Time-slot tables of tasks on the beat (HiTactix, section 2.1): from periods and budgets to slots
//! on CPUs, or to the reasons why there are none. Pure: the same demands give the same tables.
//!
//! All times are counted in slots of the grid. A task has the same phases in each of its periods,
//! and periods are counted from one zero for all CPUs, so two tasks conflict if their phases
//! overlap modulo the greatest common divisor of their periods. `phases` is that arithmetic, `cpu`
//! the bookkeeping of one CPU, `split` cuts a budget into pieces, `search` iterates over CPUs and
//! phases, and `remedy` looks for a change that would fit when no placement does.

mod cpu;
mod effort;
mod frame;
mod phases;
mod refusal;
mod remedy;
mod search;
mod split;
mod table;
mod want;

use serde::{Deserialize, Serialize};
use takt_policy::{Beats, ExactTime};

pub use frame::common_frame;
pub use refusal::{Fault, Obstacle, Refusal, Remedy};

/// Entries of a CPU's table.
pub const SLOTS_MAX: usize = 4096;
/// The longest frame, and so the longest period.
pub const FRAME_MAX_NS: u64 = 4_000_000_000;
/// Demands that can be planned at once.
pub const DEMANDS_MAX: usize = 256;

/// Where beats may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The CPUs that carry beats; the first in this order are filled first.
    pub cpus: Vec<u32>,
    /// All edges are multiples of it, or the first whole nanosecond after one.
    pub grid_ns: ExactTime,
    /// The part of each CPU's frame that is never assigned, in millionths.
    pub free_ppm: u32,
}

/// The request of a task: a thread or a group of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// Its name in refusals.
    pub name: String,
    /// A multiple of the grid, up to [`FRAME_MAX_NS`].
    pub period_ns: ExactTime,
    /// Takes whole slots; up to the period.
    pub budget_ns: u64,
    /// Takes whole slots before the beat.
    pub lead_ns: u64,
    /// The phase of the beat, a multiple of the grid; `None` where there is room.
    pub offset_ns: Option<ExactTime>,
    /// `None` for all of the host.
    pub cpus: Option<Vec<u32>>,
    /// A group stays on one CPU.
    pub is_group: bool,
    /// Its slots if it has any already; it must keep them.
    pub standing: Option<Placement>,
}

/// A task's slots within each of its periods.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// In order of time; disjoint, and one after the other even on different CPUs.
    pub pieces: Vec<Piece>,
}

/// One stretch of slots; phases within the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The CPU.
    pub cpu: u32,
    /// With its lead, as a phase within the period.
    pub begin_ns: u64,
    /// Where the budget begins: after the lead's slots in the first piece, at once in the others.
    pub beat_ns: u64,
    /// As a phase within the period.
    pub end_ns: u64,
}

/// One entry of a CPU's table; times within its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// An index into the demands.
    pub demand: usize,
    /// From the frame's beginning, with the lead.
    pub begin_ns: u32,
    /// When the budget begins.
    pub beat_ns: u32,
    /// From the frame's beginning.
    pub end_ns: u32,
}

/// The table that a CPU repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CpuTable {
    /// The CPU's number.
    pub cpu: u32,
    /// The least common multiple of the periods on this CPU.
    pub frame_ns: ExactTime,
    /// Sorted and disjoint; never empty, at most [`SLOTS_MAX`].
    pub slots: Vec<Slot>,
}

/// Room for every demand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Timetable {
    /// In the order of the demands.
    pub placements: Vec<Placement>,
    /// Of the CPUs that have slots, in the host's order.
    pub tables: Vec<CpuTable>,
}

/// Find slots for all demands. First fit, the greatest use of a CPU first, at the earliest phase of
/// the first CPU; then a bounded search for placements that first fit missed; then budgets in
/// pieces, of single threads as a last resort on several CPUs.
///
/// # Errors
///
/// A [`Refusal`] names the demand that has no room, or that is invalid.
pub fn plan(host: &Host, demands: &[Demand]) -> Result<Timetable, Refusal> {
    let wants = want::all(host, demands)?;
    let cpus = want::standing(host, demands, &wants)?;
    let order: Vec<usize> = (0..demands.len())
        .filter(|&index| demands[index].standing.is_none())
        .collect();
    match search::solve(&wants, &order, &cpus, search::EFFORT) {
        Ok(placed) => Ok(table::lay_out(host, demands, &wants, &placed)),
        Err(stuck) => Err(remedy::explain(
            host, demands, &wants, &cpus, &order, &stuck,
        )),
    }
}

/// The slots of the grid that the table reserves in every period for such a budget and such a lead:
/// whole ones for each.
pub fn reserved(grid: ExactTime, budget_ns: u64, lead_ns: u64) -> u64 {
    grid.covering(budget_ns)
        .saturating_add(grid.covering(lead_ns))
}

/// The demands of a policy's tasks, in their order.
pub fn demands(beats: &Beats) -> Vec<Demand> {
    beats
        .tasks
        .iter()
        .map(|task| Demand {
            name: task.name.clone(),
            period_ns: task.period_ns,
            budget_ns: task.budget_ns,
            lead_ns: task.lead_ns,
            offset_ns: task.offset_ns,
            cpus: task.cpus.clone(),
            is_group: task.members.len() > 1,
            standing: None,
        })
        .collect()
}

//! The state of the scheduler of beats, and of its tasks.

mod barred;
mod lateness;
mod task;

use serde::Serialize;
use takt_algo::early::{Early, Interrupted};
use takt_policy::BeatsClock;

use super::{
    BeatsRecord, Ended, Found, SentAway, phase,
    softirq::{SoftirqTiers, softirq_tiers},
};
use crate::{beats::BeatsError, error::Error};

pub use lateness::{Bucket, Lateness};
pub(super) use task::list as of_tasks;
pub use task::{MemberStatus, PieceStatus, TaskCounters, TaskStatus};

/// The scheduler of threads, one for the whole host.
#[derive(Debug, Serialize)]
pub struct BeatsStatus {
    /// Whether the kernel runs the scheduler now.
    pub running: bool,
    /// Why not, if takt did not end it.
    pub ended: Option<Ended>,
    /// What is wrong, if anything is, and what to do about it.
    pub problem: Option<String>,
    /// Counts the tables made since the scheduler was loaded, from 2.
    pub generation: u32,
    /// `None`: no policy declares the tasks; they joined at run time.
    pub policy: Option<String>,
    /// All edges of slots are multiples of this, to the nearest nanosecond; `None` if that is
    /// unknown.
    pub grid_ns: Option<u64>,
    /// The same in the policy's spelling, exactly.
    pub grid: Option<String>,
    /// The clock from whose zero periods are counted; `None` if that is unknown.
    pub clock: Option<BeatsClock>,
    /// By how much that clock was set forward since the tables were made.
    pub clock_set_by_ns: Option<i64>,
    /// How far that clock is ahead of UTC, if it is CLOCK_TAI; 0 until ptp4l or chronyd has told
    /// the kernel.
    pub tai_offset_s: Option<u64>,
    /// The settings of the softirq tiers; `None`: unchanged.
    pub network: Option<SoftirqTiers>,
    /// Threads of ad hoc tasks that made room for a policy's tasks; the latest last.
    pub sent_away: Vec<SentAway>,
    /// The CPUs that carry beats.
    pub cpus: Vec<CpuStatus>,
}

/// A CPU and the table in force on it.
#[derive(Debug, Serialize)]
pub struct CpuStatus {
    /// The kernel's number of it.
    pub cpu: u32,
    /// Generation of the table in force on it; changes at the end of a frame.
    pub generation: u32,
    /// The time after which the table repeats; 0: nothing is assigned yet.
    pub frame_ns: u64,
    /// In its table.
    pub slots: u32,
    /// The tasks' share of it, in millionths.
    pub assigned_ppm: u64,
    /// Times that the table was read.
    pub edges: u64,
    /// The timer's largest lateness.
    pub edge_late_max_ns: u64,
    /// Times that new tables came into force.
    pub swaps: u64,
    /// How long before a slot its alarm is set, by what runs then.
    pub early_ns: EarlyStatus,
}

/// How long it takes from an alarm to a thread's code, by what the alarm interrupts; 0: not known
/// yet.
#[derive(Debug, Serialize)]
pub struct EarlyStatus {
    /// An idle CPU.
    pub idle: u32,
    /// One that has stopped its tick.
    pub sleep: u32,
    /// Another thread.
    pub thread: u32,
    /// A kernel thread.
    pub kernel: u32,
    /// One whose slot ends then.
    pub beat: u32,
}

impl EarlyStatus {
    fn of(early: &Early) -> Self {
        Self {
            idle: early.before_ns(Interrupted::Idle),
            sleep: early.before_ns(Interrupted::Sleep),
            thread: early.before_ns(Interrupted::Thread),
            kernel: early.before_ns(Interrupted::Kernel),
            beat: early.before_ns(Interrupted::Beat),
        }
    }
}

pub(super) fn of_scheduler(found: &Found) -> Result<BeatsStatus, Error> {
    let record = found.record.as_ref();
    let roster = record.map(|record| &record.roster);
    let ended = found.ended.clone();
    let lost = record.is_none().then(|| {
        "takt's record of the tasks is lost, names with it; `takt apply` makes a new one".to_owned()
    });
    let state = found.scheduler.state()?;
    let mut cpus = Vec::new();
    for cpu in 0..state.cpu_count {
        let status = cpu_status(cpu, found)?;
        if status.slots > 0 || status.assigned_ppm > 0 {
            cpus.push(status);
        }
    }
    Ok(BeatsStatus {
        running: ended.is_none(),
        problem: ended
            .as_ref()
            .map(|ended| {
                let ended = ended.clone();
                BeatsError::BeatsEnded { ended }.to_string()
            })
            .or(lost)
            .or_else(|| roster.and_then(phase::problem)),
        ended,
        generation: state.generation,
        policy: roster
            .and_then(|roster| roster.source.as_ref())
            .map(|source| source.name.clone()),
        grid_ns: roster.map(|roster| roster.beats.grid_ns.rounded_ns()),
        grid: roster.map(|roster| roster.beats.grid_ns.to_string()),
        clock: roster.map(|roster| roster.beats.clock),
        clock_set_by_ns: roster.map(phase::was_set_by_ns),
        tai_offset_s: roster.and_then(phase::tai_offset_s),
        network: softirq_tiers()?,
        sent_away: roster.map_or_else(Vec::new, |roster| roster.sent_away.clone()),
        cpus,
    })
}

fn cpu_status(cpu: u32, found: &Found) -> Result<CpuStatus, Error> {
    let state = found.scheduler.cpu(cpu)?;
    let table = found.scheduler.table(cpu, state.half)?;
    Ok(CpuStatus {
        cpu,
        generation: state.generation,
        frame_ns: table.frame_ns.into(),
        slots: table.slot_count,
        assigned_ppm: found
            .record
            .as_ref()
            .map_or(0, |record| assigned_ppm(cpu, record)),
        edges: state.stats.edges,
        edge_late_max_ns: state.stats.edge_late_max_ns,
        swaps: state.stats.swaps,
        early_ns: EarlyStatus::of(&Early(state.early)),
    })
}

/// What the tasks' slots take of a CPU.
fn assigned_ppm(cpu: u32, record: &BeatsRecord) -> u64 {
    let shares = record.roster.beats.tasks.iter().flat_map(|task| {
        let pieces = record.placement(&task.name).map(|placed| &placed.pieces);
        let here = pieces
            .into_iter()
            .flatten()
            .filter(move |piece| piece.cpu == cpu);
        let period_ns = task.period_ns.rounded_ns() as f64;
        here.map(move |piece| (piece.end_ns - piece.begin_ns) as f64 / period_ns)
    });
    (shares.sum::<f64>() * 1e6).round() as u64
}

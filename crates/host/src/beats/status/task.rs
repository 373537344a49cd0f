//! How each task keeps its beat.

use serde::{Serialize, Serializer};
use takt_algo::{
    Lead,
    sys::{takt_task, takt_task_stats},
};
use takt_planner::beats::Piece;
use takt_policy::{ExactTime, Handoff, Overrun, Task};

use super::{Lateness, barred};
use crate::{
    beats::{BeatsRecord, Found, Scheduler, shown_name},
    error::Error,
};

/// A task, and its counters since it was first applied in this form.
#[derive(Debug, Serialize)]
pub struct TaskStatus {
    /// The policy's name for it, or the name of an ad hoc group.
    pub name: String,
    /// Its period, to the nearest nanosecond.
    pub period_ns: u64,
    /// The same in the policy's spelling, exactly.
    #[serde(serialize_with = "spelled")]
    pub period: ExactTime,
    /// Of all its members together.
    pub budget_ns: u64,
    /// When its budget begins within the period.
    pub offset_ns: u64,
    /// Its lead: how long before that it is released.
    pub lead_ns: u64,
    /// The most that a lead that calibrates itself becomes; `None`: the lead is fixed.
    pub lead_max_ns: Option<u64>,
    /// Its slots within the period; if it had to be split, the later ones are on other CPUs.
    pub pieces: Vec<PieceStatus>,
    /// What happens on an overrun.
    pub overrun: Overrun,
    /// The user of an ad hoc task; `None`: the policy declares it.
    pub ad_hoc_uid: Option<u32>,
    /// In the order of hand-off.
    pub members: Vec<MemberStatus>,
    /// Who says which of them goes next.
    pub handoff: Handoff,
    /// All members are ordinary threads since an overrun, until the next apply.
    pub stopped: bool,
    /// The hand-off order is not enforced any more.
    pub stalled: bool,
    /// Of all its members together.
    #[serde(flatten)]
    pub counters: TaskCounters,
    /// When, within its period, a thread last woke outside of its slots; `None`: none did.
    pub wakes_at_ns: Option<u64>,
    /// `None` as long as no job has started.
    pub lateness: Option<Lateness>,
}

/// As the policy spells it, also where it is a whole number.
fn spelled<S: Serializer>(time: &ExactTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// One contiguous allocation, as phases within the period.
#[derive(Debug, Serialize)]
pub struct PieceStatus {
    /// Its CPU.
    pub cpu: u32,
    /// The begin of its first slot; ordinary threads have what lies before the release.
    pub begin_ns: u64,
    /// The budget begins: after the lead in the first piece, at once in the others.
    pub beat_ns: u64,
    /// Its last slot ends.
    pub end_ns: u64,
}

/// A member of a task, and the thread that has the reservation.
#[derive(Debug, Serialize)]
pub struct MemberStatus {
    /// The policy's name for it; of an ad hoc task, its number, from 1.
    pub name: String,
    /// The thread that has the reservation; `None`: it is free.
    pub tid: Option<u32>,
    /// Why that thread cannot run in its slots; `None`: nothing keeps it from that.
    pub barred: Option<String>,
}

/// What became of a task's jobs; a job is its turn in one period.
#[derive(Debug, Serialize)]
pub struct TaskCounters {
    /// Jobs whose slot came while a thread had the reservation of the member whose turn it was.
    pub releases: u64,
    /// Of these, jobs that were lost: no member came before the next.
    pub missed: u64,
    /// Of these, jobs whose thread woke when no slot was open, by a clock of its own.
    pub outside: u64,
    /// Jobs that a member ran in.
    pub started: u64,
    /// Jobs that all members yielded in, or that one ended.
    pub completed: u64,
    /// Jobs that were not done at the end of the budget or the slot.
    pub overruns: u64,
    /// Turns that a member of a free group passed to one of its choice.
    pub passed: u64,
    /// Of these, turns that another member got, since the chosen one did not wait for it.
    pub skipped: u64,
    /// Of all jobs, by all members.
    pub used_ns: u64,
    /// Of one job.
    pub used_max_ns: u64,
    /// Running time after the end of the budget or the slot.
    pub cut_late_max_ns: u64,
    /// Time of interrupts and softirqs while a member ran.
    pub stolen_interrupts_ns: u64,
    /// Time of threads above the beats, in slots that a member was preempted in.
    pub stolen_higher_ns: u64,
}

impl From<&takt_task_stats> for TaskCounters {
    fn from(stats: &takt_task_stats) -> Self {
        Self {
            releases: stats.releases,
            missed: stats.missed,
            outside: stats.outside,
            started: stats.started,
            completed: stats.completed,
            overruns: stats.overruns,
            passed: stats.passed,
            skipped: stats.skipped,
            used_ns: stats.used_ns,
            used_max_ns: stats.used_max_ns,
            cut_late_max_ns: stats.cut_late_max_ns,
            stolen_interrupts_ns: stats.stolen_interrupts_ns,
            stolen_higher_ns: stats.stolen_higher_ns,
        }
    }
}

impl From<&Piece> for PieceStatus {
    fn from(piece: &Piece) -> Self {
        Self {
            cpu: piece.cpu,
            begin_ns: piece.begin_ns,
            beat_ns: piece.beat_ns,
            end_ns: piece.end_ns,
        }
    }
}

/// Every task that has a name still.
pub(in crate::beats) fn list(found: &Found) -> Result<Vec<TaskStatus>, Error> {
    let Some(record) = &found.record else {
        return Ok(Vec::new());
    };
    let runs = found.ended.is_none();
    let tasks = record.roster.beats.tasks.iter();
    tasks
        .filter_map(|task| status(task, record, &found.scheduler, runs).transpose())
        .collect()
}

fn status(
    task: &Task,
    record: &BeatsRecord,
    scheduler: &Scheduler,
    runs: bool,
) -> Result<Option<TaskStatus>, Error> {
    let Some(numbers) = record.ids.0.get(&task.name) else {
        return Ok(None);
    };
    let state: Box<takt_task> = scheduler.task(numbers.id)?;
    let pieces = record.placement(&task.name).map(|placed| &placed.pieces);
    let pieces: Vec<PieceStatus> = pieces.into_iter().flatten().map(Into::into).collect();
    let members = (numbers.first_member..)
        .zip(&numbers.members)
        .map(|(at, name)| {
            let tid = scheduler.member(at)?.tid;
            // Threads that end after the scheduler are not noticed.
            let tid = (runs && tid != 0).then_some(tid);
            let cpus = || pieces.iter().map(|piece| piece.cpu);
            Ok(MemberStatus {
                name: name.clone(),
                tid,
                barred: tid.and_then(|tid| barred::why(tid, cpus())),
            })
        })
        .collect::<Result<_, Error>>()?;
    Ok(Some(TaskStatus {
        name: shown_name(&task.name).to_owned(),
        period_ns: task.period_ns.rounded_ns(),
        period: task.period_ns,
        budget_ns: task.budget_ns,
        offset_ns: pieces.first().map_or(0, |piece| piece.beat_ns),
        lead_ns: if task.lead_auto {
            Lead(state.lead).ns(task.lead_ns as u32).into()
        } else {
            task.lead_ns
        },
        lead_max_ns: task.lead_auto.then_some(task.lead_ns),
        pieces,
        overrun: task.overrun,
        ad_hoc_uid: record.roster.ad_hoc.get(&task.name).copied(),
        members,
        handoff: task.handoff,
        stopped: state.stopped != 0,
        stalled: state.stalled != 0,
        counters: TaskCounters::from(&state.stats),
        wakes_at_ns: (state.stats.outside > 0).then_some(state.outside_at_ns),
        lateness: Lateness::of(&state.stats),
    }))
}

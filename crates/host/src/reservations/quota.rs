//! How much of the beat users other than root may reserve. What counts is what the tables
//! reserve for their tasks: whole slots of the grid, for leads as for budgets. The policy's
//! tasks and root's ad hoc tasks do not count: root has decided these.

use takt_planner::beats::reserved;
use takt_policy::{ExactTime, Overrun, Task, format_duration as time};

use super::JoinError;
use crate::beats::Roster;

/// Of one user.
const TASKS_OF_ONE_MAX: usize = 8;
const THREADS_OF_ONE_MAX: usize = 32;
/// Of all users together. The scheduler has room for 256 tasks and 256 threads, and a policy
/// must find some.
const TASKS_OF_USERS_MAX: usize = 64;
const THREADS_OF_USERS_MAX: usize = 128;
/// Of the time that can be assigned on all processors together.
const SHARE_OF_ONE_PPM: u64 = 250_000;
const SHARE_OF_USERS_PPM: u64 = 500_000;
/// Shorter periods cost every thread of their processor something.
const PERIOD_OF_USERS_MIN_NS: u64 = 1_000_000;

/// Checks whether this user may have this task, beside the existing ones. `frames`: what
/// users' periods have to divide, for each CPU that carries beats.
pub(super) fn admit(
    uid: u32,
    task: &Task,
    standing: &Roster,
    frames: &[ExactTime],
) -> Result<(), JoinError> {
    if uid == 0 {
        return Ok(());
    }
    check_overrun(task.overrun)?;
    check_period(task, standing.beats.grid_ns, frames)?;
    let of_users = || {
        let tasks = standing.beats.tasks.iter();
        tasks.filter(|other| standing.is_users(&other.name))
    };
    let of_one = || of_users().filter(|other| standing.ad_hoc.get(&other.name) == Some(&uid));
    let one = format!("user {uid}");
    let all = "all users together";
    check_count(&one, of_one(), task, TASKS_OF_ONE_MAX, THREADS_OF_ONE_MAX)?;
    check_count(
        all,
        of_users(),
        task,
        TASKS_OF_USERS_MAX,
        THREADS_OF_USERS_MAX,
    )?;
    let cpus = frames.len();
    let share = Share::new(standing, cpus);
    share.check(&one, of_one(), task, SHARE_OF_ONE_PPM)?;
    share.check(all, of_users(), task, SHARE_OF_USERS_PPM)
}

/// A thread that waits for its slot may hold what others wait for in the kernel.
fn check_overrun(overrun: Overrun) -> Result<(), JoinError> {
    match overrun {
        Overrun::Wait => Err(JoinError::Invalid(
            "only root's threads and those of policies may have overrun = \"wait\": a thread \
             that waits keeps its locks in the kernel"
                .to_owned(),
        )),
        Overrun::Demote | Overrun::Signal | Overrun::StopGroup => Ok(()),
    }
}

/// Makes the periods of unrelated users fit together: none makes the frame of a CPU so long, or
/// its table so full, that no other fits beside it.
fn check_period(task: &Task, grid: ExactTime, frames: &[ExactTime]) -> Result<(), JoinError> {
    let period = task.period_ns;
    if period < PERIOD_OF_USERS_MIN_NS.into() {
        return Err(JoinError::Invalid(format!(
            "only root may use periods shorter than {}",
            time(PERIOD_OF_USERS_MIN_NS)
        )));
    }
    let goes = |frame: &ExactTime| frame.in_slots(period).is_some();
    // A period off the grid is refused by the planner, with the grid in the message.
    let Some(wanted) = period.in_slots(grid) else {
        return Ok(());
    };
    if frames.iter().any(goes) {
        return Ok(());
    }
    let frame = frames.iter().copied().max().unwrap_or_default();
    let slots = grid.covering(frame);
    let nearest = (1..=slots)
        .filter(|parts| slots.is_multiple_of(*parts))
        .map(|parts| slots / parts)
        .find(|part| *part <= wanted)
        .map(|part| grid.times(part))
        .filter(|part| *part >= PERIOD_OF_USERS_MIN_NS.into());
    let fits = nearest.map_or_else(String::new, |part| format!("; a period of {part} does"));
    Err(JoinError::Invalid(format!(
        "users' periods divide {frame}, so that they go together, and {period} does not{fits}"
    )))
}

fn check_count<'a>(
    who: &str,
    theirs: impl Iterator<Item = &'a Task>,
    task: &Task,
    tasks_max: usize,
    threads_max: usize,
) -> Result<(), JoinError> {
    let (tasks, threads) = theirs.fold((0, 0), |(tasks, threads), other| {
        (tasks + 1, threads + other.members.len())
    });
    for (there, more, most, what) in [
        (tasks, 1, tasks_max, "tasks"),
        (threads, task.members.len(), threads_max, "threads"),
    ] {
        if there + more > most {
            return Err(JoinError::TooMany(format!(
                "{who} may have at most {most} {what} on the beat that no policy declares; there \
                 are {there}, and this would add {more}"
            )));
        }
    }
    Ok(())
}

/// Parts of one processor's time.
const WHOLE: u128 = 1_000_000_000_000;
const PPM: u128 = WHOLE / 1_000_000;

/// What all processors have to share, and in what measure.
struct Share {
    grid: ExactTime,
    assignable: u128,
}

impl Share {
    fn new(standing: &Roster, cpus: usize) -> Self {
        let of_one_ppm = 1_000_000_u128.saturating_sub(standing.beats.free_ppm.into());
        Self {
            grid: standing.beats.grid_ns,
            assignable: cpus as u128 * of_one_ppm * PPM,
        }
    }

    /// In slots.
    fn reserved(&self, task: &Task) -> u64 {
        reserved(self.grid, task.budget_ns, task.lead_ns)
    }

    /// Rounded up.
    fn of(&self, task: &Task) -> u128 {
        let in_period = u128::from(self.reserved(task)) * WHOLE;
        let period = self.grid.covering(task.period_ns);
        in_period.div_ceil(u128::from(period.max(1)))
    }

    fn check<'a>(
        &self,
        who: &str,
        theirs: impl Iterator<Item = &'a Task>,
        task: &Task,
        most_ppm: u64,
    ) -> Result<(), JoinError> {
        let most = self.assignable * u128::from(most_ppm) / 1_000_000;
        let reserved: u128 = theirs.map(|other| self.of(other)).sum();
        let wanted = self.of(task);
        if reserved + wanted <= most {
            return Ok(());
        }
        let lead = match task.lead_ns {
            0 => String::new(),
            lead_ns => format!(" with a lead of {}", time(lead_ns)),
        };
        let slots = self.reserved(task);
        Err(JoinError::TooMany(format!(
            "{who} may reserve at most {} of a processor's time on the beat; {} is reserved, and a budget \
             of {}{lead} takes {} more: {slots} whole {} of {} in every {}",
            percent(most),
            percent(reserved),
            time(task.budget_ns),
            percent(wanted),
            if slots == 1 { "slot" } else { "slots" },
            self.grid,
            task.period_ns,
        )))
    }
}

fn percent(share: u128) -> String {
    let tenths = share * 1000 / WHOLE;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests;

//! A policy's tasks as tables, if a dispatcher can keep them. Decisions only.

use takt_planner::beats::{CpuTable, Host, Refusal, demands, plan};
use takt_policy::{Beats, BeatsClock, Overrun, Task};
use thiserror::Error;

/// What a dispatcher keeps.
#[derive(Debug)]
pub struct Plan {
    pub clock: BeatsClock,
    /// In file order; tables name them by index.
    pub tasks: Vec<Task>,
    /// When the last slot of each task's period ends, as a phase of the period.
    pub ends_ns: Vec<u64>,
    /// Of the CPUs that have slots.
    pub tables: Vec<CpuTable>,
}

impl Plan {
    /// The CPU of a task's first slots.
    pub fn home_of(&self, task: usize) -> Option<u32> {
        let has = |table: &&CpuTable| table.slots.iter().any(|slot| slot.demand == task);
        self.tables.iter().find(has).map(|table| table.cpu)
    }

    /// The part of the busiest CPU's time that is in slots, in millionths.
    pub fn busiest_ppm(&self) -> u64 {
        let of_table = |table: &CpuTable| {
            let slots = table.slots.iter();
            let held_ns: u64 = slots
                .map(|slot| u64::from(slot.end_ns - slot.begin_ns))
                .sum();
            held_ns * 1_000_000 / table.frame_ns.whole_ns().max(1)
        };
        self.tables.iter().map(of_table).max().unwrap_or(0)
    }
}

/// Why a policy is not kept.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Unkept {
    #[error("the policy has no [[task]]; links are loaded by `takt apply`")]
    NoTask,
    #[error(
        "task {task} (line {line}) is a group: only the kernel's scheduler sees a thread hand over; \
         give each thread a task of its own, one offset after the other"
    )]
    Group { task: String, line: usize },
    #[error(
        "task {task} (line {line}) has overrun = \"{overrun}\": only the kernel's scheduler can stop \
         a thread; use \"demote\" or \"signal\""
    )]
    Overrun {
        task: String,
        line: usize,
        overrun: &'static str,
    },
    #[error("it does not fit:\n{0}")]
    NoRoom(Refusal),
}

/// Tables for the tasks, on those of the online CPUs that the policy allows.
pub fn of_policy(beats: Option<&Beats>, online: &[u32]) -> Result<Plan, Unkept> {
    let beats = beats
        .filter(|beats| !beats.tasks.is_empty())
        .ok_or(Unkept::NoTask)?;
    beats.tasks.iter().try_for_each(can_be_kept)?;
    let allowed = |cpu: &&u32| beats.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu));
    let host = Host {
        cpus: online.iter().filter(allowed).copied().collect(),
        grid_ns: beats.grid_ns,
        free_ppm: beats.free_ppm,
    };
    let timetable = plan(&host, &demands(beats)).map_err(Unkept::NoRoom)?;
    Ok(Plan {
        clock: beats.clock,
        tasks: beats.tasks.clone(),
        ends_ns: timetable
            .placements
            .iter()
            .map(|placement| placement.pieces.last().map_or(0, |piece| piece.end_ns))
            .collect(),
        tables: timetable.tables,
    })
}

fn can_be_kept(task: &Task) -> Result<(), Unkept> {
    if task.members.len() > 1 {
        return Err(Unkept::Group {
            task: task.name.clone(),
            line: task.line,
        });
    }
    let overrun = match task.overrun {
        Overrun::Demote | Overrun::Signal => return Ok(()),
        Overrun::StopGroup => "stop-group",
        Overrun::Wait => "wait",
    };
    Err(Unkept::Overrun {
        task: task.name.clone(),
        line: task.line,
        overrun,
    })
}

#[cfg(test)]
mod tests {
    use takt_policy::parse;

    use super::*;

    fn planned(text: &str) -> Result<Plan, Unkept> {
        let policy = parse("policy.toml", text).expect("a policy");
        of_policy(policy.beats.as_ref(), &[0, 1])
    }

    #[test]
    fn tasks_get_the_slots_that_the_kernels_scheduler_would_give_them() {
        let plan = planned(
            "[beats]\nclock = \"tai\"\ncpus = 1\n\
             [[task]]\nname = \"a\"\nperiod = \"10ms\"\nbudget = \"1ms\"\noffset = \"2ms\"\n",
        )
        .unwrap();
        assert_eq!(plan.clock, BeatsClock::Tai);
        assert_eq!(plan.tables.len(), 1);
        assert_eq!(plan.tables[0].cpu, 1);
        assert_eq!(plan.tables[0].slots[0].begin_ns, 2_000_000);
        assert_eq!((plan.home_of(0), plan.home_of(1)), (Some(1), None));
        assert_eq!(plan.busiest_ppm(), 100_000);
        assert_eq!(plan.ends_ns, [3_000_000]);
    }

    #[test]
    fn what_needs_the_kernels_scheduler_is_refused() {
        let task = "[[task]]\nname = \"a\"\nperiod = \"10ms\"\nbudget = \"1ms\"\n";
        let refused = |more: &str| planned(&format!("{task}{more}\n")).unwrap_err().to_string();
        assert!(refused("members = [\"x\", \"y\"]").starts_with("task a (line 1) is a group"));
        assert!(refused("overrun = \"wait\"").contains("overrun = \"wait\""));
        assert_eq!(
            of_policy(None, &[0]).unwrap_err().to_string(),
            Unkept::NoTask.to_string()
        );
        // Each by itself has room, and both together overlap.
        let at = |name: &str, offset: &str| {
            format!("{task}offset = \"{offset}\"\n").replace("\"a\"", name)
        };
        let both = format!(
            "[beats]\ncpus = 0\n{}{}",
            at("\"a\"", "0ms"),
            at("\"b\"", "0ms")
        );
        assert!(matches!(planned(&both), Err(Unkept::NoRoom(_))));
    }
}

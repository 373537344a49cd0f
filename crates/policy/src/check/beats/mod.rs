//! Tasks against each other: their times and the grid, names, CPUs, threads.

mod cpus;
mod room;
mod threads;
mod times;

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{MEMBERS_MAX, ReadBeats, ReadTask, TASKS_MAX};
use crate::source::Span;
use crate::{Beats, Code, Task};

use super::unique::check_unique;

/// The model and where each task is named. Valid only if no error was found.
pub(super) fn check(
    read: Option<ReadBeats>,
    findings: &mut Findings,
) -> Option<(Vec<Span>, Beats)> {
    let read = read?;
    check_count(&read.tasks, findings);
    check_groups(&read.tasks, findings);
    check_names(&read.tasks, findings);
    cpus::check(&read, findings);
    if let Some(grid) = read.grid_ns {
        for task in &read.tasks {
            times::check(&read, task, grid, findings);
        }
        if !findings.has_errors() {
            room::check(&read, grid, findings);
        }
    }
    threads::check(&read.tasks, findings);
    let spans = read.tasks.iter().map(|task| task.span.clone()).collect();
    let beats = Beats {
        grid_ns: read.grid_ns.unwrap_or_default(),
        clock: read.clock,
        free_ppm: read.free_ppm,
        cpus: read.cpus.map(|(cpus, _)| cpus),
        threaded_napi: read.threaded_napi,
        batch_packets: read.batch_packets,
        ignore_cgroup_limits: read.ignore_cgroup_limits,
        join: read.join,
        tasks: read.tasks.into_iter().map(resolve).collect(),
    };
    Some((spans, beats))
}

/// The scheduler has so many threads; each task has at least one.
fn check_count(tasks: &[ReadTask], findings: &mut Findings) {
    let mut threads = 0;
    for task in tasks {
        threads += task.threads();
        if threads > TASKS_MAX {
            let total: usize = tasks.iter().map(ReadTask::threads).sum();
            let error = Diagnostic::error(
                Code::TooManyTasks,
                format!(
                    "{total} threads are more than the {TASKS_MAX} a policy can have on the beat"
                ),
                "let threads that need no slot of their own run as ordinary ones",
            );
            findings.add(error.at(&task.span, "the first one too many"));
            return;
        }
    }
}

/// A hand-off group has at most so many members.
fn check_groups(tasks: &[ReadTask], findings: &mut Findings) {
    for task in tasks {
        let members = task.members.as_deref().unwrap_or_default();
        if let Some((_, excess)) = members.get(MEMBERS_MAX) {
            let error = Diagnostic::error(
                Code::TooManyMembers,
                format!(
                    "task `{}` has {} members, and {MEMBERS_MAX} are possible",
                    task.shown_name(),
                    members.len()
                ),
                "make two tasks of it, each with a budget of its own",
            );
            findings.add(error.at(excess, "the first one too many"));
        }
    }
}

fn check_names(tasks: &[ReadTask], findings: &mut Findings) {
    let named = tasks
        .iter()
        .filter_map(|task| Some((task.name.as_deref()?, &task.span, task.line)));
    check_unique(named, findings, |name, first_line| {
        Diagnostic::error(
            Code::DuplicateTask,
            format!("the policy has two tasks named `{name}`"),
            format!("rename one, or make its thread a member of the task in line {first_line}"),
        )
    });
}

/// A missing value without a default has been reported, and the model is not handed out.
fn resolve(task: ReadTask) -> Task {
    let members = threads::members(&task);
    Task {
        name: task.name.unwrap_or_default(),
        period_ns: task.period_ns.map(|(period, _)| period).unwrap_or_default(),
        budget_ns: task.budget_ns.map_or(0, |(budget_ns, _)| budget_ns),
        offset_ns: task.offset_ns.map(|(offset_ns, _)| offset_ns),
        lead_ns: task.lead_ns.map_or(0, |(lead_ns, _)| lead_ns),
        lead_auto: task.lead_auto,
        cpus: task.cpus.map(|(cpus, _)| cpus),
        overrun: task.overrun,
        members,
        handoff: task.handoff,
        line: task.line,
    }
}

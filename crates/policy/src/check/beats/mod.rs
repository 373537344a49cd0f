//! How tasks go together: their times with the grid, their names, their threads.

mod threads;

use crate::findings::Findings;
use crate::read::{ReadBeats, ReadTask};
use crate::source::Span;
use crate::{Beats, Task};

/// The model and where each task is named. Worth something only if no error was found.
pub(super) fn check(
    read: Option<ReadBeats>,
    _findings: &mut Findings,
) -> Option<(Vec<Span>, Beats)> {
    let read = read?;
    let spans = read.tasks.iter().map(|task| task.span.clone()).collect();
    let beats = Beats {
        grid_ns: read.grid_ns.unwrap_or_default(),
        free_ppm: read.free_ppm,
        cpus: read.cpus,
        threaded_napi: read.threaded_napi,
        batch_packets: read.batch_packets,
        tasks: read.tasks.into_iter().map(resolve).collect(),
    };
    Some((spans, beats))
}

/// What is absent without a default has been reported, and the model is not handed out.
fn resolve(task: ReadTask) -> Task {
    let members = threads::members(&task);
    Task {
        name: task.name.unwrap_or_default(),
        period_ns: task.period_ns.map_or(0, |(period_ns, _)| period_ns),
        budget_ns: task.budget_ns.map_or(0, |(budget_ns, _)| budget_ns),
        offset_ns: task.offset_ns.map(|(offset_ns, _)| offset_ns),
        lead_ns: task.lead_ns.map_or(0, |(lead_ns, _)| lead_ns),
        cpus: task.cpus.map(|(cpus, _)| cpus),
        overrun: task.overrun,
        members,
        line: task.line,
    }
}

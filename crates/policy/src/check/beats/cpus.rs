//! A task runs on CPUs that carry beats.

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadBeats, ReadTask};

pub(super) fn check(beats: &ReadBeats, findings: &mut Findings) {
    let Some((carrying, carrying_span)) = &beats.cpus else {
        return;
    };
    for task in &beats.tasks {
        let Some((cpus, span)) = &task.cpus else {
            continue;
        };
        if !cpus.iter().any(|cpu| carrying.binary_search(cpu).is_ok()) {
            let error = Diagnostic::error(
                Code::NoCommonCpu,
                format!(
                    "none of the CPUs of task `{}` carries beats",
                    task.shown_name()
                ),
                "add one of them to the cpus of [beats], or let the task have one that is there",
            );
            findings.add(
                error
                    .at(span, "none of these")
                    .at(carrying_span, "is among these"),
            );
        }
    }
}

/// The CPUs that a task may have its slots on; `None` for all of the host.
pub(super) fn of_task(beats: &ReadBeats, task: &ReadTask) -> Option<Vec<u32>> {
    let carrying = beats.cpus.as_ref().map(|(cpus, _)| cpus);
    match (carrying, task.cpus.as_ref().map(|(cpus, _)| cpus)) {
        (None, None) => None,
        (Some(cpus), None) | (None, Some(cpus)) => Some(cpus.clone()),
        (Some(carrying), Some(cpus)) => {
            let both = cpus
                .iter()
                .filter(|cpu| carrying.binary_search(cpu).is_ok());
            Some(both.copied().collect())
        }
    }
}

use takt_host::{Lateness, TaskStatus};

use super::{Rows, columns, per_s, text};
use crate::commands::{
    status::cpus,
    top::{
        rates::{Counts, Meter},
        sample::Sample,
        table::Column,
        value::Value,
    },
};

pub const COLUMNS: &[Column] = columns! {
    "task" "task" text;
    "cpu" "cpu_share" number;
    "period" "period_ns" number;
    "budget" "budget_ns" number;
    "late p50" "late_p50_ns" number;
    "late p99" "late_p99_ns" number;
    "worst" "late_max_ns" number;
    "miss/s" "missed_jobs_ps" number;
    "over/s" "overrun_jobs_ps" number;
    "state" "state" text;
    "jobs/s" "jobs_ps" number;
    "most used" "used_max_ns" number;
    "cpus" "cpus" text;
};

pub fn rows(sample: &Sample, meter: &mut Meter) -> Rows {
    let tasks = &sample.status.tasks;
    if tasks.is_empty() {
        Err("no tasks are on the beat".to_owned())
    } else {
        Ok(tasks.iter().map(|task| row(task, meter)).collect())
    }
}

fn row(task: &TaskStatus, meter: &mut Meter) -> Vec<Value> {
    let id = format!("task {:?} {}", task.ad_hoc_uid, task.name);
    let rates = meter.rates(id, counts(task));
    let late = |pick: fn(&Lateness) -> u64| {
        Value::or_absent(task.lateness.as_ref(), |late| Value::TimeNs(pick(late)))
    };
    vec![
        text(&task.name),
        Value::or_absent(rates, |rates| Value::Share(rates[0] / 1e9)),
        Value::TimeNs(task.period_ns),
        Value::TimeNs(task.budget_ns),
        late(|late| late.p50_ns),
        late(|late| late.p99_ns),
        late(|late| late.max_ns),
        per_s(rates, 1),
        per_s(rates, 2),
        text(state(task)),
        per_s(rates, 3),
        Value::TimeNs(task.counters.used_max_ns),
        text(&cpus(task)),
    ]
}

fn counts(task: &TaskStatus) -> Counts {
    let counters = &task.counters;
    [
        counters.used_ns,
        counters.missed,
        counters.overruns,
        counters.releases,
    ]
}

fn state(task: &TaskStatus) -> &'static str {
    let joined = task.members.iter().any(|member| member.tid.is_some());
    let barred = task.members.iter().any(|member| member.barred.is_some());
    match (task.stopped, task.stalled, joined) {
        (true, ..) => "stopped",
        _ if barred => "barred",
        (false, true, _) => "stalled",
        (false, false, true) => "runs",
        (false, false, false) => "free",
    }
}

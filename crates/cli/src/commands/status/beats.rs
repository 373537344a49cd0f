//! The scheduler of beats and its tasks, as text.

use std::fmt::Write;

use takt_host::{BeatsStatus, Status, TaskStatus};
use takt_policy::{Handoff, Overrun, format_duration};

use super::{table, write_table};
use crate::{
    columns::Row,
    print::{count, us},
};

/// One line, and a line for each problem.
pub fn write_summary(text: &mut String, status: &Status) {
    let Some(beats) = &status.beats else {
        return;
    };
    let cpus = match beats.cpus.len() {
        0 => String::new(),
        cpus => format!(" on {}", count(cpus, "CPU", "CPUs")),
    };
    let policy = match &beats.policy {
        Some(policy) => format!("policy {policy}"),
        None => "no policy".to_owned(),
    };
    let overruns: u64 = status.tasks.iter().map(|t| t.counters.overruns).sum();
    let _ = writeln!(
        text,
        "beats  {}  {}{cpus}  {}  {policy} (no. {})",
        if beats.running { "running" } else { "ended" },
        count(status.tasks.len(), "task", "tasks"),
        count(overruns as usize, "overrun", "overruns"),
        beats.generation.saturating_sub(1),
    );
    if let Some(problem) = &beats.problem {
        let _ = writeln!(text, "  ! {problem}");
    }
}

/// All details.
pub fn write_tasks(text: &mut String, status: &Status) {
    let Some(beats) = &status.beats else {
        text.push_str("no tasks are on the beat\n");
        return;
    };
    write_network(text, beats);
    write_clock(text, beats);
    write_cpus(text, beats);
    write_sent_away(text, beats);
    if status.tasks.is_empty() {
        return;
    }
    let headings = [
        "task",
        "period",
        "budget",
        "beat at",
        "cpu",
        "releases",
        "missed",
        "overruns",
        "most used",
        "late p50",
        "late p99",
        "worst late",
    ];
    let mut rows: Vec<Row> = vec![headings.map(str::to_owned).into()];
    rows.extend(status.tasks.iter().map(task_row));
    let mut lines = table(&rows, |at| at == 0).into_iter();
    let headings = lines.next().unwrap_or_default();
    let _ = writeln!(text, "{headings}");
    for (line, task) in lines.zip(&status.tasks) {
        let _ = writeln!(text, "{line}");
        write_more(text, task);
    }
}

fn write_sent_away(text: &mut String, beats: &BeatsStatus) {
    for thread in &beats.sent_away {
        let _ = writeln!(
            text,
            "  sent away {} s ago: thread {} of user {}, which had joined in `{}`: {}",
            thread.ago_ns() / 1_000_000_000,
            thread.tid,
            thread.user,
            thread.task,
            thread.reason
        );
    }
}

fn write_clock(text: &mut String, beats: &BeatsStatus) {
    let ahead = match beats.tai_offset_s {
        None => return,
        Some(0) => {
            "which is UTC here: ptp4l or chronyd tells the kernel their difference".to_owned()
        }
        Some(offset_s) => format!("{offset_s} s ahead of UTC"),
    };
    let _ = writeln!(
        text,
        "  periods are counted from the zero of CLOCK_TAI, {ahead}"
    );
}

fn write_network(text: &mut String, beats: &BeatsStatus) {
    let Some(network) = &beats.network else {
        return;
    };
    let batch = network
        .batch_packets
        .map(|packets| format!("at most {packets} at once"));
    let threaded = match network.threaded.as_slice() {
        [] => None,
        devices => Some(format!("in threads on {}", devices.join(", "))),
    };
    let parts: Vec<String> = batch.into_iter().chain(threaded).collect();
    let _ = writeln!(text, "  packets are processed {}", parts.join(", "));
}

fn write_cpus(text: &mut String, beats: &BeatsStatus) {
    if beats.cpus.is_empty() {
        return;
    }
    let headings = [
        "cpu",
        "frame",
        "slots",
        "assigned",
        "edges",
        "tables",
        "worst late edge",
    ];
    let mut rows: Vec<Row> = vec![headings.map(str::to_owned).into()];
    rows.extend(beats.cpus.iter().map(|cpu| {
        vec![
            cpu.cpu.to_string(),
            format_duration(cpu.frame_ns),
            cpu.slots.to_string(),
            format!("{:.1}%", cpu.assigned_ppm as f64 / 1e4),
            cpu.edges.to_string(),
            cpu.swaps.to_string(),
            format!("{:.1} us", us(cpu.edge_late_max_ns)),
        ]
    }));
    write_table(text, &rows, |at| at == 0);
}

fn task_row(task: &TaskStatus) -> Row {
    let counters = &task.counters;
    let late = |pick: fn(&takt_host::Lateness) -> u64| match &task.lateness {
        None => "-".to_owned(),
        Some(lateness) => format!("{:.1} us", us(pick(lateness))),
    };
    vec![
        task.name.clone(),
        task.period.to_string(),
        format_duration(task.budget_ns),
        format_duration(task.offset_ns),
        cpus(task),
        counters.releases.to_string(),
        counters.missed.to_string(),
        counters.overruns.to_string(),
        format!("{:.1} us", us(counters.used_max_ns)),
        late(|lateness| lateness.p50_ns),
        late(|lateness| lateness.p99_ns),
        late(|lateness| lateness.max_ns),
    ]
}

/// What has no column.
fn write_more(text: &mut String, task: &TaskStatus) {
    let counters = &task.counters;
    let threads: Vec<String> = task
        .members
        .iter()
        .map(|member| match member.tid {
            Some(tid) => format!("{} {tid}", member.name),
            None => format!("{} (no thread)", member.name),
        })
        .collect();
    let _ = writeln!(text, "    threads: {}", threads.join(", "));
    for member in &task.members {
        if let (Some(tid), Some(barred)) = (member.tid, &member.barred) {
            let name = &member.name;
            let _ = writeln!(
                text,
                "    ! {name} {tid} cannot use its reservation: it {barred}"
            );
        }
    }
    if let Some(at_ns) = task.wakes_at_ns {
        let _ = writeln!(
            text,
            "    {} jobs outside of slots: the thread sleeps by its own clock, and last woke {:.3} ms into \
             its period; `offset` moves the slots there",
            counters.outside,
            at_ns as f64 / 1e6,
        );
    }
    let _ = writeln!(
        text,
        "    stolen {:.1} us by interrupts, {:.1} us by higher classes; {}, cut at most {:.1} us \
         late",
        us(counters.stolen_interrupts_ns),
        us(counters.stolen_higher_ns),
        overrun(task.overrun),
        us(counters.cut_late_max_ns),
    );
    for (is_so, what) in [
        (task.lead_ns > 0 || task.lateness.is_some(), lead(task)),
        (task.handoff == Handoff::Free, handoff(task)),
        (task.ad_hoc_uid.is_some(), ad_hoc(task)),
        (
            task.stopped,
            "! it overran and is stopped until `takt apply` puts a policy in force".to_owned(),
        ),
        (
            task.stalled,
            "! the member whose turn it is stays away, so the others do not wait for it".to_owned(),
        ),
    ] {
        if is_so {
            let _ = writeln!(text, "    {what}");
        }
    }
}

/// The CPUs of its slots, each once.
pub fn cpus(task: &TaskStatus) -> String {
    let mut cpus: Vec<u32> = task.pieces.iter().map(|piece| piece.cpu).collect();
    cpus.dedup();
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    cpus.join(",")
}

fn overrun(overrun: Overrun) -> &'static str {
    match overrun {
        Overrun::Demote => "an overrun demotes",
        Overrun::Signal => "an overrun signals",
        Overrun::StopGroup => "an overrun stops the group",
        Overrun::Wait => "an overrun waits",
    }
}

fn lead(task: &TaskStatus) -> String {
    let released = match task.lead_ns {
        0 => String::new(),
        lead_ns => {
            let learned = match task.lead_max_ns {
                None => String::new(),
                Some(max_ns) => format!(", learned, at most {}", format_duration(max_ns)),
            };
            let lead = format_duration(lead_ns);
            format!("released {lead} before the beat{learned}; ")
        }
    };
    let late_us = task.lateness.as_ref().map_or(0.0, |l| us(l.p999_ns));
    format!("{released}99.9 % of starts at most {late_us:.1} us late")
}

fn handoff(task: &TaskStatus) -> String {
    let counters = &task.counters;
    let passed = count(counters.passed as usize, "turn", "turns");
    let skipped = match counters.skipped {
        0 => String::new(),
        skipped => format!(", {skipped} of them to one that was not ready"),
    };
    format!("members choose who goes next: {passed} passed{skipped}")
}

fn ad_hoc(task: &TaskStatus) -> String {
    let uid = task.ad_hoc_uid.unwrap_or_default();
    format!("joined at run time, for user {uid}")
}

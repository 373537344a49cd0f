//! What a dispatcher says of itself: a file that it writes each second, for every user to read.

use std::{fs, io, path::Path, sync::atomic::Ordering};

use serde::{Deserialize, Serialize};
use takt_policy::{BeatsClock, format_duration};

use crate::{
    error::{Error, Result},
    member::Member,
    processes,
    record::FOLDER,
};

/// The program's name, 15 bytes at most, as the kernel has it.
const NAME: &str = "takt-dispatch";

pub const FILE: &str = "status.json";

#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    /// The process's.
    pub pid: u32,
    pub clock: BeatsClock,
    /// The dispatcher's, of SCHED_FIFO.
    pub priority: u8,
    pub cpus: Vec<CpuStatus>,
    pub tasks: Vec<TaskStatus>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct CpuStatus {
    pub cpu: u32,
    /// Slots that ended before the dispatcher came.
    pub missed_slots_count: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct TaskStatus {
    pub name: String,
    pub cpu: Option<u32>,
    pub period_ns: u64,
    pub budget_ns: u64,
    /// `None` if no thread has the task.
    pub tid: Option<i32>,
    /// Releases.
    pub jobs_count: u64,
    /// Threads that were still ready when their last slot ended.
    pub overruns_count: u64,
    /// Slots without a release although a thread was there.
    pub skipped_slots_count: u64,
    /// How much later than its slot's beginning a thread was released.
    pub late_p50_ns: u64,
    pub late_p99_ns: u64,
    pub late_max_ns: u64,
    /// Why a thread that matches is not kept.
    pub problem: Option<String>,
}

impl TaskStatus {
    /// The figures of a member; the rest is the caller's.
    pub fn count(mut self, member: &Member) -> Self {
        let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        self.jobs_count = of(&member.jobs);
        self.overruns_count = of(&member.overruns);
        self.skipped_slots_count = of(&member.skipped);
        if let Ok(late_ns) = member.late_ns.lock() {
            self.late_p50_ns = late_ns.value_at_quantile(0.5);
            self.late_p99_ns = late_ns.value_at_quantile(0.99);
            self.late_max_ns = late_ns.max();
        }
        self
    }
}

/// What the dispatcher that runs here wrote last.
pub fn read() -> Result<Status> {
    let path = Path::new(FOLDER).join(FILE);
    let text = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NotRunning,
        _ => Error::file(&path)(error),
    })?;
    let status: Status = serde_json::from_slice(&text)
        .map_err(|error| Error::file(path)(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    // One that was killed has left its file.
    match processes::name_of(status.pid) {
        Some(name) if name == NAME => Ok(status),
        _ => Err(Error::NotRunning),
    }
}

/// For people.
pub fn text(status: &Status) -> String {
    let mut text = format!(
        "{:<15}  {:>4}  {:>7}  {:>9}  {:>9}  {:>9}  {:>7}  {:>7}  {:>7}\n",
        "task", "cpu", "thread", "period", "jobs", "overruns", "p50", "p99", "max"
    );
    for task in &status.tasks {
        let or_dash = |found: Option<String>| found.unwrap_or_else(|| "-".to_owned());
        text += &format!(
            "{:<15}  {:>4}  {:>7}  {:>9}  {:>9}  {:>9}  {:>7}  {:>7}  {:>7}\n",
            task.name,
            or_dash(task.cpu.map(|cpu| cpu.to_string())),
            or_dash(task.tid.map(|tid| tid.to_string())),
            format_duration(task.period_ns),
            task.jobs_count,
            task.overruns_count,
            micros(task.late_p50_ns),
            micros(task.late_p99_ns),
            micros(task.late_max_ns),
        );
        if let Some(problem) = &task.problem {
            text += &format!("  {problem}\n");
        }
    }
    let missed: u64 = status.cpus.iter().map(|cpu| cpu.missed_slots_count).sum();
    text + &format!("missed slots: {missed}; times: from a slot's beginning to the release\n")
}

fn micros(time_ns: u64) -> String {
    format!("{:.1}us", time_ns as f64 / 1e3)
}

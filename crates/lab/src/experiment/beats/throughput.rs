//! The work of ordinary threads in the remaining share of the processor.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use super::beat::Beats;
use super::clock::{now_ns, sleep_until};
use super::contender::Contender;
use super::jitter;
use super::load::busy;
use super::process::Process;
use super::script::{Part, Role};
use super::stage::{self, play};
use crate::experiment::command;
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::namespace::Namespace;
use crate::experiment::pair::A;

const DONE: &str = "work_per_s";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errand {
    /// Two threads compute.
    Compute,
    /// Pairs of threads pass a byte to and fro: they sleep and wake all the time.
    Pipes,
    /// rt-tests' hackbench: groups of threads send each other messages.
    Messages,
}

impl Errand {
    pub const ALL: [Self; 3] = [Self::Compute, Self::Pipes, Self::Messages];

    pub fn case(self) -> &'static str {
        match self {
            Self::Compute => "ordinary-compute",
            Self::Pipes => "ordinary-pipes",
            Self::Messages => "ordinary-messages",
        }
    }

    fn threads(self) -> Vec<Role> {
        const PAIRS: usize = 4;
        match self {
            Self::Compute => busy(),
            Self::Pipes => (0..PAIRS)
                .map(|at| Role::ordinary(format!("pipe-{at}"), Part::Pipes))
                .collect(),
            Self::Messages => Vec::new(),
        }
    }
}

/// The work beside four threads whose jobs take half of the processor: nanoseconds of
/// computing, round trips, or messages.
pub fn measure(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    errand: Errand,
    length: Duration,
) -> Result<Metrics> {
    let (namespace, mut threads) = stage::beats(contender, beats);
    let count = threads.len() as u64;
    for (role, beat) in threads.iter_mut().zip(&beats.threads) {
        if let Part::Jobs { work_ns, .. } = &mut role.part {
            *work_ns = beat.rhythm.period_ns / 2 / count;
        }
    }
    if errand == Errand::Messages {
        return messages(takt, (namespace, threads), length);
    }
    let cast = vec![(namespace, threads), stage::ordinary(errand.threads())];
    let played = play(takt, length, cast)?;
    let seconds = played.window.length_ns() as f64 / 1e9;
    let done: u64 = played.records[1].iter().map(|record| record.done).sum();
    let missed = jitter::missed(beats, &played.records[0], played.window);
    Ok(metrics([
        (DONE, json!((done as f64 / seconds).round())),
        ("missed_jobs_count", json!(missed)),
    ]))
}

/// Messages per second that hackbench sends and receives; hackbench is given their total
/// number, and takes its time.
fn messages(takt: &Path, beats: (Namespace, Vec<Role>), length: Duration) -> Result<Metrics> {
    const THREADS: u64 = 4;
    /// An estimate, so that it takes about as long as the other work.
    const MESSAGES_PER_S: f64 = 50_000.0;
    let loops = (length.as_secs_f64() * MESSAGES_PER_S) as u64 / (THREADS * THREADS);
    let words = format!("--threads --groups=1 --fds={THREADS} --loops={loops}");
    let words: Vec<&str> = words.split_whitespace().collect();
    // The beats last longer than it.
    let window = stage::window(10 * length);
    let (namespace, threads) = beats;
    let _beats = Process::start(takt, namespace, window, threads)?;
    sleep_until(window.begin_ns);
    A.run(|| command::run(command::HACKBENCH, &words).map(drop))?;
    let seconds = (now_ns() - window.begin_ns) as f64 / 1e9;
    let done = loops * THREADS * THREADS;
    Ok(metrics([(DONE, json!((done as f64 / seconds).round()))]))
}

/// Compares every row with the one of `baseline` in the same case.
pub fn compare(rows: &mut [Row], baseline: &str) {
    let baselines: Vec<(String, f64)> = rows
        .iter()
        .filter(|row| row.scheduler == baseline)
        .filter_map(|row| Some((row.case.clone(), row.number(DONE)?)))
        .collect();
    for row in rows {
        let found = baselines.iter().find(|(case, _)| *case == row.case);
        if let (Some((_, baseline)), Some(done)) = (found, row.number(DONE)) {
            row.metrics.insert(
                "throughput_percent".to_owned(),
                json!(100.0 * done / baseline),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_relative_to_the_kernels_own_class() {
        let row = |scheduler: &str, done: u64| Row {
            scheduler: scheduler.to_owned(),
            case: "ordinary-compute".to_owned(),
            metrics: metrics([(DONE, json!(done))]),
        };
        let mut rows = [row("takt", 97), row("fifo", 100)];
        compare(&mut rows, "fifo");
        assert_eq!(rows[0].metrics["throughput_percent"], json!(97.0));
    }
}

//! How late a thread starts after its beat: HiTactix's ΔT (figure 7).

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use takt_report::nearest_rank;

use super::beat::Beats;
use super::contender::Contender;
use super::load::{Carried, Load, busy};
use super::script::{Job, Record, Window};
use super::stage::{self, Played, play};
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};

/// The threads' jitter under a network load, with two busy ordinary threads.
pub fn under_load(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    load: Load,
    length: Duration,
) -> Result<Metrics> {
    let mut cast = vec![stage::beats(contender, beats), stage::ordinary(busy())];
    cast.extend(load.ends());
    let played = play(takt, length, cast)?;
    let mut row = beside_load(beats, &played);
    // A figure recognises its rows by this metric.
    let period_ns = beats.threads[0].rhythm.period_ns;
    row.extend(metrics([("period_ns", json!(period_ns))]));
    Ok(row)
}

/// The threads' starts, and the work of the ordinary threads: the first program is the beats'
/// and the second the busy threads'.
pub fn beside_load(beats: &Beats, played: &Played) -> Metrics {
    let mut row = of_threads(beats, &played.records[0], played.window);
    row.extend(of_load(&played.records[1..], played.window));
    row
}

/// The work of the two busy threads and the network.
fn of_load(records: &[Vec<Record>], window: Window) -> Metrics {
    let per_second = |amount: u64| amount as f64 * 1e9 / window.length_ns() as f64;
    let done_ns: u64 = records[0].iter().map(|record| record.done).sum();
    let carried = Carried::of(&records[1..]);
    metrics([
        (
            "ordinary_share_percent",
            json!(100.0 * done_ns as f64 / window.length_ns() as f64),
        ),
        (
            "sent_bps",
            json!(per_second(8 * carried.sent_bytes).round()),
        ),
        (
            "received_bps",
            json!(per_second(8 * carried.received_bytes).round()),
        ),
    ])
}

/// All threads' starts together, and the worst thread's by itself.
pub fn of_threads(beats: &Beats, records: &[Record], window: Window) -> Metrics {
    let mut pooled: Vec<u64> = Vec::new();
    let (mut worst_p99, mut worst_max) = (0, 0);
    for record in records {
        let mut late: Vec<u64> = record.jobs.iter().map(late_ns).collect();
        late.sort_unstable();
        worst_p99 = worst_p99.max(nearest_rank(&late, 990).unwrap_or_default());
        worst_max = worst_max.max(late.last().copied().unwrap_or_default());
        pooled.extend(late);
    }
    pooled.sort_unstable();
    let jobs = || records.iter().flat_map(|record| &record.jobs);
    let waited_ns: u64 = jobs().map(|job| job.start_ns - job.woke_ns).sum();
    let early: u64 = records.iter().map(|record| record.early).sum();
    let of = |per_mille| json!(nearest_rank(&pooled, per_mille));
    metrics([
        ("jitter_mean_ns", json!(mean(&pooled))),
        ("jitter_p50_ns", of(500)),
        ("jitter_p90_ns", of(900)),
        ("jitter_p98_ns", of(980)),
        ("jitter_p99_ns", of(990)),
        ("jitter_p999_ns", of(999)),
        ("jitter_max_ns", of(1000)),
        ("jitter_early_max_ns", json!(jobs().map(early_ns).max())),
        ("jitter_worst_thread_p99_ns", json!(worst_p99)),
        ("jitter_worst_thread_max_ns", json!(worst_max)),
        ("jobs_count", json!(pooled.len())),
        ("missed_jobs_count", json!(missed(beats, records, window))),
        ("early_count", json!(early)),
        (
            "waited_percent",
            json!(100.0 * waited_ns as f64 / window.length_ns() as f64),
        ),
    ])
}

/// Beats within the window without a job.
pub fn missed(beats: &Beats, records: &[Record], window: Window) -> u64 {
    let expected: u64 = beats
        .threads
        .iter()
        .map(|beat| beat.rhythm.count(window.begin_ns, window.end_ns))
        .sum();
    let done: usize = records.iter().map(|record| record.jobs.len()).sum();
    expected.saturating_sub(done as u64)
}

fn early_ns(job: &Job) -> u64 {
    job.beat_ns.saturating_sub(job.start_ns)
}

fn late_ns(job: &Job) -> u64 {
    job.start_ns.saturating_sub(job.beat_ns)
}

pub fn mean(samples: &[u64]) -> Option<u64> {
    samples
        .iter()
        .sum::<u64>()
        .checked_div(samples.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_thread_is_told_from_all_of_them() {
        let beats = Beats::slow();
        let thread = |late_ns: u64| Record {
            jobs: (0..10)
                .map(|job| Job {
                    beat_ns: job * 40,
                    woke_ns: job * 40 + late_ns,
                    start_ns: job * 40 + late_ns,
                    end_ns: job * 40 + 30,
                })
                .collect(),
            ..Record::default()
        };
        let window = Window {
            begin_ns: 0,
            end_ns: 400_000_000,
        };
        let figures = of_threads(&beats, &[3, 5, 4, 4].map(thread), window);
        assert_eq!(figures["jitter_mean_ns"], json!(4));
        assert_eq!(figures["jitter_p50_ns"], json!(4));
        assert_eq!(figures["jitter_worst_thread_p99_ns"], json!(5));
        assert_eq!(figures["jobs_count"], json!(40));
        assert_eq!(figures["missed_jobs_count"], json!(0));
        assert_eq!(figures["waited_percent"], json!(0.0));
    }
}

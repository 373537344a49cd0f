//! cyclictest of rt-tests, a program without support for Takt: its own measurement of how late
//! its thread wakes.
//!
//! It sleeps until times of its own, a thousand times a second. For Takt these are aligned to
//! the clock (`--secaligned`) and lie within the thread's slot.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::beat::{Beats, MS, US};
use super::clock::{now_ns, sleep_until};
use super::contender::Contender;
use super::load::{Load, busy};
use super::process::Process;
use super::program::exact_timers;
use super::script::Window;
use super::stage;
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::A;

/// The program's place in the image.
const PROGRAM: &str = "/add/cyclictest";
/// Of the process and of both its threads: one measures, the other waits.
pub const NAME: &str = "cyclictest";
/// Between the slot's begin and the moment the thread wakes.
const INTO_SLOT_US: u64 = 60;
/// It begins with the next whole second, or the one after if that is near. Starting it half a
/// second before saves busy time.
const SECOND_NS: u64 = 1_000 * MS;
const STARTS_BEFORE_NS: u64 = 500 * MS;
const STARTS_WITHIN: Duration = Duration::from_secs(3);
/// Larger latencies share one bucket of the histogram.
const HISTOGRAM_NS: u64 = 1_000_000;

/// The part of its report that matters here.
#[derive(Deserialize)]
struct Report {
    thread: BTreeMap<String, Thread>,
}

#[derive(Deserialize)]
struct Thread {
    histogram: BTreeMap<String, u64>,
    cycles: u64,
    max: u64,
    avg: f64,
}

/// Its latencies under network load and with two busy threads.
pub fn measure(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    load: Load,
    length: Duration,
) -> Result<Metrics> {
    let beat = &beats.threads[0];
    let begin_ns = now_ns().next_multiple_of(SECOND_NS) + STARTS_BEFORE_NS;
    sleep_until(begin_ns);
    let window = Window {
        begin_ns,
        end_ns: begin_ns + (STARTS_WITHIN + length).as_nanos() as u64,
    };
    let mut cast = vec![stage::ordinary(busy())];
    cast.extend(load.ends());
    let _others = cast
        .into_iter()
        .map(|(namespace, threads)| Process::start(takt, namespace, window, threads))
        .collect::<Result<Vec<_>>>()?;

    let directory = tempfile::tempdir().doing("make a directory")?;
    let path = directory.path().join("report.json");
    let period_us = beat.rhythm.period_ns / US;
    let mut arguments = vec![
        "--quiet".to_owned(),
        "--mlockall".to_owned(),
        "--nsecs".to_owned(),
        format!("--histogram={HISTOGRAM_NS}"),
        format!("--json={}", path.display()),
        format!("--interval={period_us}"),
        format!("--loops={}", length.as_micros() as u64 / period_us),
        format!("--secaligned={}", beat.rhythm.phase_ns / US + INTO_SLOT_US),
    ];
    arguments.extend(match contender {
        Contender::Fifo => ["--policy=fifo", "--priority=80"]
            .map(str::to_owned)
            .to_vec(),
        _ => vec!["--policy=other".to_owned()],
    });
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    A.run(|| {
        // A program inherits the timer slack of its parent. An ordinary thread's is 50 µs by
        // default, under any scheduler.
        exact_timers()?;
        command::run(PROGRAM, &arguments).map(drop)
    })?;
    let text = std::fs::read_to_string(&path).doing("read cyclictest's report")?;
    figures(&text)
}

fn figures(text: &str) -> Result<Metrics> {
    let unexpected = |reason: String| ExperimentError::Output {
        command: PROGRAM.to_owned(),
        reason,
    };
    let report: Report =
        serde_json::from_str(text).map_err(|error| unexpected(error.to_string()))?;
    let thread = report
        .thread
        .into_values()
        .next()
        .ok_or_else(|| unexpected("no thread in it".to_owned()))?;
    let mut places: Vec<(u64, u64)> = thread
        .histogram
        .iter()
        .filter_map(|(ns, count)| Some((ns.parse().ok()?, *count)))
        .collect();
    places.sort_unstable();
    let of = |per_mille| rank(&places, thread.cycles, per_mille).unwrap_or(thread.max);
    Ok(metrics([
        ("latency_mean_ns", json!(thread.avg.round() as u64)),
        ("latency_p50_ns", json!(of(500))),
        ("latency_p99_ns", json!(of(990))),
        ("latency_max_ns", json!(thread.max)),
        ("cycles_count", json!(thread.cycles)),
    ]))
}

/// The latency of nearest rank among `cycles`, unless it is off the histogram.
fn rank(places: &[(u64, u64)], cycles: u64, per_mille: u64) -> Option<u64> {
    let rank = (cycles * per_mille).div_ceil(1_000).max(1);
    let mut sum = 0;
    places.iter().find_map(|(ns, count)| {
        sum += count;
        (sum >= rank).then_some(*ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_report_is_read() {
        let text = r#"{"file_version": 1, "thread": {"0": {
            "histogram": {"3900": 90, "12000": 9}, "cycles": 100, "min": 3900,
            "max": 2000000, "avg": 24000.4, "cpu": 0}}}"#;
        let figures = figures(text).unwrap();
        assert_eq!(figures["latency_p50_ns"], json!(3_900));
        assert_eq!(figures["latency_p99_ns"], json!(12_000));
        assert_eq!(figures["latency_max_ns"], json!(2_000_000));
        assert_eq!(figures["latency_mean_ns"], json!(24_000));
    }

    #[test]
    fn a_rank_off_the_histogram_is_the_maximum() {
        assert_eq!(rank(&[(10, 98)], 100, 990), None);
        assert_eq!(rank(&[(10, 99)], 100, 990), Some(10));
    }
}

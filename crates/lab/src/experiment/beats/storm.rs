//! The threads' jitter while packets come from outside, by interrupts: before a beat, at its
//! moment, while it computes.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::beat::Beats;
use super::contender::Contender;
use super::jitter;
use super::load::{Load, busy};
use super::outside::Interrupt;
use super::stage::{self, play_beside};
use crate::experiment::error::Result;
use crate::experiment::metrics::{Metrics, metrics};

/// From a job's start to its end.
pub const JOB_MEAN: &str = "job_mean_ns";

/// `storm-600`, `storm-600-threaded`.
pub fn case(load: Load, threaded: bool) -> String {
    let load = match load {
        Load::Rate(rate) => rate.to_string(),
        Load::Saturated => load.name(),
    };
    if threaded {
        format!("storm-{load}-threaded")
    } else {
        format!("storm-{load}")
    }
}

/// With two busy ordinary threads, the sender and the receiver.
pub fn measure(
    takt: &Path,
    contender: Contender,
    beats: &Beats,
    load: Load,
    length: Duration,
) -> Result<Metrics> {
    let mut cast = vec![stage::beats(contender, beats), stage::ordinary(busy())];
    cast.extend(load.outside_ends());
    let interrupt = Interrupt::find()?;
    let (played, interrupts) =
        play_beside(takt, length, cast, |window| interrupt.count_within(window))?;
    let mut row = jitter::beside_load(beats, &played);
    let jobs = played.records[0].iter().flat_map(|record| &record.jobs);
    let jobs: Vec<u64> = jobs.map(|job| job.end_ns - job.start_ns).collect();
    row.extend(metrics([
        (JOB_MEAN, json!(jitter::mean(&jobs))),
        ("interrupts_count", json!(interrupts)),
    ]));
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_named_by_its_load_and_who_processes_packets() {
        assert_eq!(case(Load::Rate(0), false), "storm-0");
        assert_eq!(case(Load::Rate(600), true), "storm-600-threaded");
        assert_eq!(case(Load::Saturated, false), "storm-saturated");
        assert_eq!(case(Load::Saturated, true), "storm-saturated-threaded");
    }
}

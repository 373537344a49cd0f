//! What is left of takt after a day of policies, changes, kills and devices that come and go?
//!
//! An hour is a row. In each, every step of `steps` and `hostile` is done once, in an order drawn by
//! the hour's number, so that an hour that fails can be had again; then everything is taken back, and what the kernel and taktd hold is counted. Between
//! the steps time passes, which is free in the laboratory.

mod counts;
mod daemon;
mod hostile;
mod policies;
mod steps;

use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use takt_report::Row;

use self::counts::Counts;
use self::daemon::Served;
use self::steps::{STEPS, Stage};
use super::bench::Bench;
use super::error::Result;
use super::metrics::metrics;

const HOUR: Duration = Duration::from_secs(3600);
/// Of these a short run has the first.
const HOURS: u64 = 24;
const HOURS_IF_SHORT: u64 = 2;

/// How long the kernel may take to free what is not used any more.
const SETTLING: Duration = Duration::from_secs(30);

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let hours = if bench.short { HOURS_IF_SHORT } else { HOURS };
    let mut rows = Vec::new();
    let mut served = Served::start(bench.takt())?;
    for hour in 1..=hours {
        eprintln!("soak: hour {hour} of {hours}");
        let began = Instant::now();
        let mut stage = Stage::new(bench.takt(), &mut served)?;
        let mut order: Vec<_> = STEPS.iter().chain(&hostile::STEPS).collect();
        order.shuffle(&mut Pcg64Mcg::seed_from_u64(hour));
        let pause = HOUR / (order.len() as u32 + 2);
        for (name, step) in order {
            step(&mut stage).inspect_err(|_| eprintln!("soak: hour {hour}: {name}"))?;
            thread::sleep(pause);
        }
        let done = stage.end()?;
        thread::sleep(SETTLING);
        let counts = Counts::now(&served)?;
        eprintln!("soak: {done:?}, {counts:?}");
        rows.push(Row {
            scheduler: "takt".to_owned(),
            case: format!("hour {hour:02}"),
            metrics: metrics([
                ("device_mended_max_ms", json!(done.device_mended_max_ms)),
                ("qdisc_mended_max_ms", json!(done.qdisc_mended_max_ms)),
                ("packets_lost_count", json!(done.packets_lost)),
                ("longest_wait_ms", json!(done.longest_wait_ms)),
                ("programs_count", json!(counts.programs)),
                ("maps_count", json!(counts.maps)),
                ("links_count", json!(counts.links)),
                ("left_count", json!(counts.left)),
                ("warnings_count", json!(counts.warnings)),
                ("unreclaimable_kb", json!(counts.unreclaimable_kb)),
                ("percpu_kb", json!(counts.percpu_kb)),
                ("taktd_resident_kb", json!(counts.resident_kb)),
                ("taktd_descriptors_count", json!(counts.descriptors)),
            ]),
        });
        thread::sleep(HOUR.saturating_sub(began.elapsed()));
    }
    Ok(rows)
}

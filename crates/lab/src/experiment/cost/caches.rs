//! Where caches miss for a packet that need not wait: beyond the misses of a packet with no
//! scheduler. A model in the emulator counts them (crates/caches), window by window; here are the
//! windows, and outside [`fill`] puts the figures in.

use serde_json::{Value, json};
use takt_caches::model::{COUNTED, Misses, SHAPES};
use takt_report::{Report, Row};

use super::at_once::{AtOnce, Sender};
use crate::experiment::bench::Bench;
use crate::experiment::error::Result;
use crate::experiment::metrics::metrics;
use crate::experiment::pair;
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::setup;

const CLASSES: [(&str, u64); 4] = [
    ("1-class", 1),
    ("10-classes", 10),
    ("100-classes", 100),
    ("1000-classes", 1_000),
];
const FLOWS: [(&str, u64); 3] = [
    ("10-flows", 10),
    ("1000-flows", 1_000),
    ("10000-flows", 10_000),
];
/// The least packets of a window, which is a whole number of rounds of all flows.
const PACKETS_MIN: u64 = 2_000;

/// The number of a row's first mark; the second is the next one.
const WINDOW: &str = "window";
const PACKETS: &str = "packets";

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let _misled = pair::drop_on_arrival()?;
    let cases = match bench.short {
        true => AtOnce::of(&CLASSES[..1], &FLOWS[..1]),
        false => AtOnce::of(&CLASSES, &FLOWS),
    };
    let mut rows = Vec::new();
    bench.with_each(|scheduler, root| {
        for case in &cases {
            eprintln!("caches: {}, {}", scheduler.name(), case.name);
            if let Some(packets) = window(case, scheduler, root)? {
                let window = 2 * rows.len();
                rows.push(Row {
                    scheduler: scheduler.name().to_owned(),
                    case: case.name.to_owned(),
                    metrics: metrics([(WINDOW, json!(window)), (PACKETS, json!(packets))]),
                });
            }
        }
        Ok(())
    })?;
    // Rows of a case are adjacent, although measured apart.
    rows.sort_by_key(|row| cases.iter().position(|case| case.name == row.case));
    Ok(rows)
}

/// The packets of the window between two marks; `None` if the scheduler cannot express the case.
fn window(case: &AtOnce, scheduler: Scheduler, root: &mut Root<'_>) -> Result<Option<i64>> {
    let Some(setup) = setup(scheduler, &case.shape) else {
        return Ok(None);
    };
    root.attach(scheduler.name(), &setup.qdisc)?;
    let mut sender = Sender::open(scheduler, &case.shape, &setup)?;
    let round = sender.count() as u64;
    let packets = (PACKETS_MIN.div_ceil(round) * round) as i64;
    // Afterwards every cache has seen every flow.
    sender.pass(packets)?;
    takt_caches::mark();
    sender.pass(packets)?;
    takt_caches::mark();
    Ok(Some(packets))
}

/// Put each row's misses in for its window. `None`: the marks are not those of the windows.
pub fn fill(report: &mut Report, marks: &[Misses]) -> Option<()> {
    if marks.len() != 2 * report.rows.len() {
        return None;
    }
    let mut baselines: Vec<(String, [f64; SHAPES.len() * COUNTED.len()])> = Vec::new();
    for row in &mut report.rows {
        let first = row
            .metrics
            .remove(WINDOW)
            .as_ref()
            .and_then(Value::as_u64)? as usize;
        let packets = row.metrics.get(PACKETS).and_then(Value::as_f64)?;
        let between = marks[first]
            .iter()
            .flatten()
            .zip(marks[first + 1].iter().flatten());
        let misses: Vec<f64> = between
            .map(|(from, to)| (to - from) as f64 / packets)
            .collect();
        let misses: [f64; SHAPES.len() * COUNTED.len()] = misses.try_into().ok()?;
        if row.scheduler == Scheduler::None.name() {
            baselines.push((row.case.clone(), misses));
        }
        let baseline = &baselines.iter().find(|(case, _)| *case == row.case)?.1;
        let names = SHAPES
            .iter()
            .flat_map(|shape| COUNTED.map(|counted| format!("{}_{counted}_misses", shape.name)));
        for ((name, misses), baseline) in names.zip(misses).zip(baseline) {
            let added = (10.0 * (misses - baseline)).round() / 10.0;
            row.metrics.insert(name, json!(added));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scheduler: &str, window: usize) -> Row {
        Row {
            scheduler: scheduler.to_owned(),
            case: "1-class".to_owned(),
            metrics: metrics([(WINDOW, json!(window)), (PACKETS, json!(100))]),
        }
    }

    fn report() -> Report {
        Report {
            experiment: "caches".to_owned(),
            kernel: String::new(),
            clock: "virtual".to_owned(),
            command: String::new(),
            commit: String::new(),
            rows: vec![row("none", 0), row("fq", 2)],
        }
    }

    #[test]
    fn misses_are_those_of_the_window_beyond_no_schedulers() {
        let mut report = report();
        let marks = [[[0; 3]; 2], [[100; 3]; 2], [[500; 3]; 2], [[850; 3]; 2]];
        fill(&mut report, &marks).expect("marks of all windows");
        assert_eq!(report.rows[0].metrics["gateway_l1d_misses"], json!(0.0));
        assert_eq!(report.rows[1].metrics["server_l2_misses"], json!(2.5));
        assert!(!report.rows[1].metrics.contains_key(WINDOW));
    }

    #[test]
    fn marks_of_other_windows_are_refused() {
        assert_eq!(fill(&mut report(), &[[[0; 3]; 2]; 3]), None);
    }
}

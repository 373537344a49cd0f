//! Where caches miss for a packet, and where its instructions are: beyond those of a packet with no
//! scheduler. A plugin of the emulator's counts them (crates/caches), window by window; here are the
//! windows, and outside [`fill`] puts the figures in.

use std::time::Duration;

use serde_json::{Value, json};
use takt_caches::Mark;
use takt_caches::instructions::PARTS;
use takt_caches::model::{COUNTED, SHAPES};
use takt_report::{Report, Row};

use super::at_once::{AtOnce, Sender};
use super::waiting::{self, Case};
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
/// A window in which packets wait: as many.
const WAITING: Duration = Duration::from_millis(200);

/// The number of a row's first mark; the second is the next one.
const WINDOW: &str = "window";
const PACKETS: &str = "packets";

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let _misled = pair::drop_on_arrival()?;
    let cases = if bench.short {
        AtOnce::of(&CLASSES[..1], &FLOWS[..1])
    } else {
        AtOnce::of(&CLASSES, &FLOWS)
    };
    let mut waiting = waiting::with_classes();
    if bench.short {
        waiting.truncate(1);
    }
    let mut rows = Vec::new();
    let mut add = |scheduler: Scheduler, case: &str, packets: u64| {
        let window = 2 * rows.len();
        rows.push(Row {
            scheduler: scheduler.name().to_owned(),
            case: case.to_owned(),
            metrics: metrics([(WINDOW, json!(window)), (PACKETS, json!(packets))]),
        });
    };
    bench.with_each(|scheduler, root| {
        for case in &cases {
            eprintln!("caches: {}, {}", scheduler.name(), case.name);
            if let Some(packets) = window(case, scheduler, root)? {
                add(scheduler, case.name, packets);
            }
        }
        for case in waiting.iter().filter(|case| case.suits(scheduler)) {
            eprintln!("caches: {}, {}", scheduler.name(), case.name);
            add(
                scheduler,
                case.name,
                window_of_waiting(case, scheduler, root)?,
            );
        }
        Ok(())
    })?;
    // Rows of a case are adjacent, although measured apart.
    let names = cases.iter().map(|case| case.name);
    let names: Vec<_> = names.chain(waiting.iter().map(|case| case.name)).collect();
    rows.sort_by_key(|row| names.iter().position(|name| *name == row.case));
    Ok(rows)
}

/// The packets of the window between two marks; `None` if the scheduler cannot express the case.
fn window(case: &AtOnce, scheduler: Scheduler, root: &mut Root<'_>) -> Result<Option<u64>> {
    let Some(setup) = setup(scheduler, &case.shape) else {
        return Ok(None);
    };
    root.attach(scheduler.name(), &setup.qdisc)?;
    let mut sender = Sender::open(scheduler, &case.shape, &setup)?;
    let round = sender.count() as u64;
    let packets = PACKETS_MIN.div_ceil(round) * round;
    // Afterwards every cache has seen every flow.
    sender.pass(packets as i64)?;
    takt_caches::mark();
    sender.pass(packets as i64)?;
    takt_caches::mark();
    Ok(Some(packets))
}

/// The same while packets wait.
fn window_of_waiting(case: &Case, scheduler: Scheduler, root: &mut Root<'_>) -> Result<u64> {
    case.pumped(scheduler, root, |pump| {
        let before = pair::received()?.frames;
        takt_caches::mark();
        pump(WAITING)?;
        takt_caches::mark();
        Ok(pair::received()?.frames - before)
    })
}

const FIGURES: usize = SHAPES.len() * COUNTED.len() + PARTS.len();

/// Misses and instructions of a window, for each packet.
fn figures(from: &Mark, to: &Mark, packets: f64) -> [f64; FIGURES] {
    let counts = |mark: &Mark| -> Vec<u64> {
        let misses = mark.misses.iter().flatten();
        misses.chain(&mark.instructions).copied().collect()
    };
    let (from, to) = (counts(from), counts(to));
    std::array::from_fn(|at| (to[at] - from[at]) as f64 / packets)
}

/// Their metrics.
fn names() -> impl Iterator<Item = String> {
    let misses = SHAPES
        .iter()
        .flat_map(|shape| COUNTED.map(|counted| format!("{}_{counted}_misses", shape.name)));
    misses.chain(PARTS.map(|part| format!("{part}_instructions")))
}

/// Put each row's figures in for its window. `None`: the marks are not those of the windows.
pub fn fill(report: &mut Report, marks: &[Mark]) -> Option<()> {
    if marks.len() != 2 * report.rows.len() {
        return None;
    }
    let mut baselines: Vec<(String, [f64; FIGURES])> = Vec::new();
    for row in &mut report.rows {
        let first = row
            .metrics
            .remove(WINDOW)
            .as_ref()
            .and_then(Value::as_u64)? as usize;
        let packets = row.metrics.get(PACKETS).and_then(Value::as_f64)?;
        let figures = figures(&marks[first], &marks[first + 1], packets);
        if row.scheduler == Scheduler::None.name() {
            baselines.push((row.case.clone(), figures));
        }
        let baseline = &baselines.iter().find(|(case, _)| *case == row.case)?.1;
        for ((name, figure), baseline) in names().zip(figures).zip(baseline) {
            let added = (10.0 * (figure - baseline)).round() / 10.0;
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
        let mark = |count| Mark {
            misses: [[count; 3]; 2],
            instructions: [10 * count; 2],
        };
        let marks = [0, 100, 500, 850].map(mark);
        fill(&mut report, &marks).expect("marks of all windows");
        assert_eq!(report.rows[0].metrics["gateway_l1d_misses"], json!(0.0));
        assert_eq!(report.rows[1].metrics["server_l2_misses"], json!(2.5));
        assert_eq!(report.rows[1].metrics["loaded_instructions"], json!(25.0));
        assert!(!report.rows[1].metrics.contains_key(WINDOW));
    }

    #[test]
    fn marks_of_other_windows_are_refused() {
        assert_eq!(fill(&mut report(), &[Mark::default(); 3]), None);
    }
}

//! Does every class get exactly its rate, at an even pace?
//!
//! Every class always has packets queued, so the pace is only the scheduler's. Rates count
//! frames as the kernel's queues do (see [`shape`](crate::experiment::shape)); spacing is taken from the
//! kernel's receive timestamps at the other end of the cable. On a real machine only the cases of
//! this file are measured.

mod arrivals;
mod borrowing;
mod clients;
mod downloads;
mod flows;
mod gap;
mod incast;
mod length;
mod shares;
mod sharing;
mod slack;
mod steps;
mod streams;
mod tcp;
mod tree;
mod tree_setup;

use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use self::arrivals::{Observed, together};
use self::length::Length;
use crate::experiment::bench::Bench;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::Metrics;
use crate::experiment::pair;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Setup, setup};
use crate::experiment::shape::Shape;
use crate::experiment::sink::Sink;
use crate::experiment::source::Source;
use crate::experiment::traffic::{Traffic, Window};

/// By then every class is backlogged and no scheduler has credit left.
const WARM_UP: Duration = Duration::from_millis(150);

struct Case {
    name: String,
    shape: Shape,
    mtu_bytes: u32,
    /// The most packets that each class keeps queued.
    backlog: u32,
    length: Length,
    /// Names for a row of each class, beside the row of all.
    class_rows: &'static [&'static str],
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let cases = cases();
    let rows = bench.with_each(|scheduler, root| {
        let mut rows = Vec::new();
        for case in &cases {
            let length = case.length.of(bench.short);
            if let Some((setup, length)) = setup(scheduler, &case.shape).zip(length) {
                eprintln!("pacing: {}, {}", scheduler.name(), case.name);
                let _mtu = pair::with_mtu(case.mtu_bytes)?;
                root.attach(scheduler.name(), &setup.qdisc)?;
                rows.extend(measure(case, scheduler, &setup, length)?);
            }
        }
        if bench.native {
            return Ok(rows);
        }
        rows.extend(tcp::run(scheduler, root, bench.short)?);
        rows.extend(sharing::run(scheduler, root, bench.short)?);
        rows.extend(borrowing::run(scheduler, root, bench.short)?);
        rows.extend(flows::run(scheduler, root, bench.short)?);
        rows.extend(streams::run(scheduler, root, bench.short)?);
        // It starts two hundred programs, and streams show the same.
        if !bench.short {
            rows.extend(downloads::run(scheduler, root)?);
        }
        rows.extend(clients::run(scheduler, root, bench.short)?);
        rows.extend(slack::run(scheduler, root, bench.short)?);
        rows.extend(gap::run(scheduler, root, bench)?);
        Ok(rows)
    })?;
    let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
    if !bench.native && !bench.short && bench.wants_all() {
        rows.extend(incast::run(bench)?);
    }
    Ok(rows)
}

/// Many servers that answer at once.
pub fn run_incast(bench: &Bench) -> Result<Vec<Row>> {
    incast::run(bench)
}

/// Thousands of clients, each with its own rate.
pub fn run_clients(bench: &Bench) -> Result<Vec<Row>> {
    let rows = bench.with_each(|scheduler, root| clients::run(scheduler, root, bench.short))?;
    Ok(rows.into_iter().flatten().collect())
}

/// PSPacer's figures 2 and 3: a hundred rates, and classes that start one after the other.
pub fn run_steps(bench: &Bench) -> Result<Vec<Row>> {
    let rows = bench.with_each(|scheduler, root| {
        let mut rows = steps::run(scheduler, root, bench.short)?;
        rows.extend(sharing::run(scheduler, root, bench.short)?);
        Ok(rows)
    })?;
    Ok(rows.into_iter().flatten().collect())
}

/// What a late timer saves, and costs in spacing.
pub fn run_slack(bench: &Bench) -> Result<Vec<Row>> {
    let rows = bench.with_each(|scheduler, root| slack::run(scheduler, root, bench.short))?;
    Ok(rows.into_iter().flatten().collect())
}

/// Gap frames, and the timer beside them.
pub fn run_gap(bench: &Bench) -> Result<Vec<Row>> {
    let rows = bench.with_each(|scheduler, root| gap::run(scheduler, root, bench))?;
    Ok(rows.into_iter().flatten().collect())
}

fn cases() -> Vec<Case> {
    const MBIT: u64 = 1_000_000;
    let single = |name: &str, rate_bps, length| Case {
        name: name.to_owned(),
        shape: Shape::udp([rate_bps]),
        mtu_bytes: 1500,
        backlog: 16,
        length,
        class_rows: &[],
    };
    vec![
        // Idle time is free in the lab and packets are not: higher rates are measured for a
        // shorter time.
        single("single-1mbit", MBIT, Length::ms(60_000, 10_000)),
        single("single-10mbit", 10 * MBIT, Length::ms(20_000, 2_000)),
        single("single-100mbit", 100 * MBIT, Length::ms(8_000, 400)),
        single("single-300mbit", 300 * MBIT, Length::only_full_ms(5_000)),
        single("single-500mbit", 500 * MBIT, Length::only_full_ms(4_000)),
        Case {
            shape: Shape {
                packet_bytes: 8500,
                ..Shape::udp([1000 * MBIT])
            },
            mtu_bytes: 9000,
            ..single("single-1gbit-jumbo", 0, Length::ms(5_000, 150))
        },
        Case {
            shape: Shape {
                link_rate_bps: Some(1000 * MBIT),
                ..Shape::udp([40, 40, 40, 20, 20].map(|rate| rate * MBIT))
            },
            class_rows: &[
                "five/40mbit-1",
                "five/40mbit-2",
                "five/40mbit-3",
                "five/20mbit-1",
                "five/20mbit-2",
            ],
            ..single("five", 0, Length::ms(8_000, 400))
        },
        Case {
            shape: Shape::udp([MBIT / 2; 200]),
            backlog: 6,
            ..single("many-200x0.5mbit", 0, Length::only_full_ms(16_000))
        },
    ]
}

fn measure(
    case: &Case,
    scheduler: Scheduler,
    setup: &Setup,
    duration: Duration,
) -> Result<Vec<Row>> {
    let sources = Source::open(&case.shape, case.backlog)?;
    for (source, options) in sources.iter().zip(&setup.sockets) {
        source.configure(options)?;
    }
    let sinks = Sink::open(&case.shape, duration)?;
    let mut traffic = Traffic::new(&case.shape, sources, sinks)?;
    let window = traffic.run(WARM_UP, duration)?;
    let flows = traffic.finish()?;

    let classes = flows
        .iter()
        .zip(&case.shape.classes)
        .map(|(flow, class)| {
            Observed::new(flow, &window, class.rate_bps, case.shape.frame_bytes()).ok_or_else(
                || ExperimentError::NoTraffic {
                    scheduler: scheduler.name(),
                    case: format!("{} {}", case.name, class.name),
                    sent: flow.sent,
                    received: flow.record.arrivals_ns.len() as u64,
                },
            )
        })
        .collect::<Result<Vec<_>>>()?;

    let packets = flows
        .iter()
        .map(|flow| flow.arrivals_within(&window).len() as u64)
        .sum();
    let row = |case: &str, mut metrics: Metrics| {
        describe(&mut metrics, &window, packets);
        Row {
            scheduler: scheduler.name().to_owned(),
            case: case.to_owned(),
            metrics,
        }
    };
    let whole = match classes.as_slice() {
        [class] => class.metrics(),
        classes => together(classes),
    };
    let each = case
        .class_rows
        .iter()
        .zip(&classes)
        .map(|(name, class)| row(name, class.metrics()));
    Ok(std::iter::once(row(&case.name, whole))
        .chain(each)
        .collect())
}

/// `packets` is the number of those of all classes.
fn describe(metrics: &mut Metrics, window: &Window, packets: u64) {
    let busy = &window.busy;
    metrics.insert(
        "interrupts_per_packet".to_owned(),
        json!(busy.interrupts_per_packet(packets)),
    );
    metrics.insert(
        "busy_ns_per_packet".to_owned(),
        json!((busy.busy.as_nanos() as u64).checked_div(packets)),
    );
    metrics.insert(
        "duration_ns".to_owned(),
        json!(window.end_ns - window.start_ns),
    );
    metrics.insert(
        "idle_share_percent".to_owned(),
        json!(busy.idle_share_percent()),
    );
}

//! What does a packet cost more than with no scheduler at all?
//!
//! Two answers. *At once*: packets find their class idle and go straight
//! through, queued and dequeued in the call that sent them. *Waiting*: every
//! class has packets queued, and each leaves when its moment comes.

use std::time::{Duration, Instant};

use serde_json::json;
use takt_report::{Row, nearest_rank};

use super::bench::Bench;
use super::error::{ExperimentError, Result};
use super::load::Idle;
use super::metrics::{Metrics, metrics};
use super::pair;
use super::scheduler::Scheduler;
use super::setup::Setup;
use super::shape::Shape;
use super::source::{self, Sent, Source};
use super::traffic::Traffic;

/// A packet of the fastest class takes 1.2 µs, and sending one takes longer:
/// none ever waits.
const LINK_RATE_BPS: u64 = 100_000_000_000;
const CLASS_RATE_MAX_BPS: u64 = 10_000_000_000;
/// All classes that wait together, an eighth of what the processor can carry:
/// each of 2,000 sends four frames a second, so that whole seconds hold whole
/// rounds.
const WAITING_BPS: u64 = 2000 * 4 * 1514 * 8;
/// Packets each class keeps waiting, at most.
const BACKLOG: u32 = 4;
/// Until the kernel has freed what the scheduler before has left.
const SETTLE: Duration = Duration::from_millis(200);
const WARM_UP: Duration = Duration::from_secs(1);

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    // Traffic has no receiver here: what happens after the cable is no part of
    // the cost, and the less of it there is the better the rest shows.
    let _misled = pair::drop_on_arrival()?;
    let mut rows = Vec::new();
    for (case, classes) in [("1-class", 1), ("100-classes", 100), ("2000-classes", 2000)] {
        rows.extend(at_once(bench, case, classes)?);
    }
    for (case, classes) in [("1-class-waiting", 1), ("2000-classes-waiting", 2000)] {
        rows.extend(waiting(bench, case, classes)?);
    }
    Ok(rows)
}

/// Every round measures every scheduler, no scheduler first, and a
/// scheduler's cost is the difference within the round: what changes slowly
/// concerns both.
fn at_once(bench: &Bench, case: &str, classes: u64) -> Result<Vec<Row>> {
    let (rounds, packets) = if bench.short { (2, 4_000) } else { (5, 10_000) };
    let shape = Shape {
        link_rate_bps: Some(LINK_RATE_BPS),
        waits: false,
        ..Shape::udp((0..classes).map(|_| CLASS_RATE_MAX_BPS.min(LINK_RATE_BPS / classes)))
    };
    let mut sources = Source::open(&shape, 2 * BACKLOG)?;
    let setups = bench.setups(&shape);
    let mut found: Vec<Found> = vec![Found::default(); setups.len()];
    for round in 1..=rounds {
        eprintln!("cost: {case}, round {round} of {rounds}");
        let mut none_ns = 0;
        for ((scheduler, setup), found) in setups.iter().zip(&mut found) {
            let Some(installed) = bench.install(*scheduler, setup)? else {
                continue;
            };
            let packet_ns = send(&shape, *scheduler, setup, &mut sources, packets)?;
            installed.remove()?;
            if *scheduler == Scheduler::None {
                none_ns = packet_ns;
            }
            found.baseline_ns.push(none_ns);
            found.cost_ns.push(packet_ns - none_ns);
        }
    }
    Ok(setups
        .iter()
        .zip(found)
        .filter_map(|((scheduler, _), found)| {
            Some(Row {
                scheduler: scheduler.name().to_owned(),
                case: case.to_owned(),
                metrics: found.metrics(rounds * packets)?,
            })
        })
        .collect())
}

/// One scheduler's rounds.
#[derive(Debug, Clone, Default)]
struct Found {
    cost_ns: Vec<i64>,
    baseline_ns: Vec<i64>,
}

impl Found {
    /// `None` if the kernel lacks the scheduler.
    fn metrics(mut self, packets: i64) -> Option<Metrics> {
        let (cost_ns, cost_spread_ns) = median_and_spread(&mut self.cost_ns)?;
        let (baseline_ns, baseline_spread_ns) = median_and_spread(&mut self.baseline_ns)?;
        Some(metrics([
            ("cost_ns_per_packet", json!(cost_ns)),
            ("cost_spread_ns", json!(cost_spread_ns)),
            ("baseline_ns_per_packet", json!(baseline_ns)),
            ("baseline_spread_ns", json!(baseline_spread_ns)),
            ("packets", json!(packets)),
        ]))
    }
}

fn median_and_spread(samples: &mut [i64]) -> Option<(i64, i64)> {
    samples.sort_unstable();
    let spread = samples.last()? - samples.first()?;
    Some((nearest_rank(samples, 500)?, spread))
}

/// Sends packets to the classes in turn and returns nanoseconds for each.
fn send(
    shape: &Shape,
    scheduler: Scheduler,
    setup: &Setup,
    sources: &mut [Source],
    packets: i64,
) -> Result<i64> {
    for (source, options) in sources.iter().zip(&setup.sockets) {
        source.configure(options)?;
    }
    std::thread::sleep(SETTLE);
    let mut payload = source::payload(shape.packet_bytes);
    let mut pass = |sources: &mut [Source], packets: i64| {
        let started = Instant::now();
        let mut left = packets;
        while left > 0 {
            for source in sources.iter_mut().take(left as usize) {
                if source.send(&mut payload)? == Sent::Full {
                    return Err(ExperimentError::HeldBack {
                        scheduler: scheduler.name(),
                    });
                }
                left -= 1;
            }
        }
        Ok(started.elapsed())
    };
    // Every flow is known to every cache before it is measured.
    pass(sources, 2 * sources.len() as i64)?;
    let before = pair::received()?;
    let elapsed = pass(sources, packets)?;
    let arrived = pair::received()?.frames - before.frames;
    if arrived < packets as u64 {
        return Err(ExperimentError::Lost {
            scheduler: scheduler.name(),
            sent: packets as u64,
            arrived,
        });
    }
    Ok(elapsed.as_nanos() as i64 / packets)
}

/// The processor's whole work for a packet, sending included, while all classes
/// are backlogged and most of the time is idle.
fn waiting(bench: &Bench, case: &str, classes: u64) -> Result<Vec<Row>> {
    let duration = Duration::from_secs(if bench.short { 1 } else { 4 });
    let shape = Shape::udp((0..classes).map(|_| WAITING_BPS / classes));
    let mut rows = Vec::new();
    for (scheduler, setup) in bench.setups(&shape) {
        eprintln!("cost: {case}, {}", scheduler.name());
        let Some(installed) = bench.install(scheduler, &setup)? else {
            continue;
        };
        let sources = Source::open(&shape, BACKLOG)?;
        for (source, options) in sources.iter().zip(&setup.sockets) {
            source.configure(options)?;
        }
        rows.push(Row {
            scheduler: scheduler.name().to_owned(),
            case: case.to_owned(),
            metrics: work_per_packet(Traffic::new(&shape, sources, Vec::new())?, duration)?,
        });
        installed.remove()?;
    }
    Ok(rows)
}

fn work_per_packet(mut traffic: Traffic, duration: Duration) -> Result<Metrics> {
    traffic.pump(WARM_UP)?;
    let (idle, before) = (Idle::now()?, pair::received()?);
    traffic.pump(duration)?;
    let (busy, after) = (Idle::now()?.since(&idle), pair::received()?);
    let packets = after.frames - before.frames;
    let bits = 8 * (after.bytes - before.bytes);
    Ok(metrics([
        (
            "busy_ns_per_packet",
            json!((busy.busy.as_nanos() as u64).checked_div(packets)),
        ),
        ("packets", json!(packets)),
        ("target_bps", json!(WAITING_BPS)),
        (
            "achieved_bps",
            json!(bits as f64 / busy.elapsed.as_secs_f64()),
        ),
        ("idle_share_percent", json!(busy.idle_share_percent())),
        ("duration_ns", json!(busy.elapsed.as_nanos() as u64)),
    ]))
}

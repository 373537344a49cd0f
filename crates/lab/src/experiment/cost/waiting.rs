//! The cost of packets that wait: the processor's whole work for one, sending included, while
//! every flow is backlogged and most of the time is idle. What a [metronome](crate::experiment::metronome)
//! needs to send as many without a scheduler is subtracted.

use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use crate::experiment::error::Result;
use crate::experiment::load::Idle;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::metronome::Metronome;
use crate::experiment::pair;
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::setup;
use crate::experiment::shape::Shape;
use crate::experiment::source::Source;
use crate::experiment::traffic::Traffic;

const FLOWS: (&str, usize) = ("2000-flows-waiting", 2000);
const CLASSES: [(&str, u64); 2] = [("1-class-waiting", 1), ("2000-classes-waiting", 2000)];
/// All flows together, a fifth of what the processor can carry; every two
/// tenths of a second hold whole rounds.
const PACKETS_PER_S: u64 = 10_000;
pub(super) const RATE_BPS: u64 = PACKETS_PER_S * 1514 * 8;
/// The most packets that each flow keeps queued, and how long they must last: the sender does
/// nothing else while the load figures are read, and flows that run dry meanwhile would all
/// start again together.
pub(super) const BACKLOG_MIN: u32 = 3;
const BACKLOG_LASTS: Duration = Duration::from_millis(20);
const WARM_UP: Duration = Duration::from_millis(500);
/// The metric that rows are compared by.
pub(super) const BUSY: &str = "busy_ns_per_packet";

pub(super) struct Case {
    pub name: &'static str,
    shape: Shape,
}

/// Sends for so long.
type Pump<'a> = dyn FnMut(Duration) -> Result<()> + 'a;

/// There is no row for a scheduler that cannot express every case with classes, or every case
/// with flows: one number is nothing to compare.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for cases in [with_classes(), with_flows()] {
        if cases.iter().all(|case| case.suits(scheduler)) {
            for case in &cases {
                eprintln!("cost: {}, {}", scheduler.name(), case.name);
                rows.push(Row {
                    scheduler: scheduler.name().to_owned(),
                    case: case.name.to_owned(),
                    metrics: case.measure(scheduler, root, short)?,
                });
            }
        }
    }
    Ok(rows)
}

pub(super) fn with_classes() -> Vec<Case> {
    CLASSES
        .map(|(name, classes)| Case {
            name,
            shape: Shape::udp((0..classes).map(|_| RATE_BPS / classes)),
        })
        .into()
}

/// With few flows their turns coincide as soon as a sender is late once, and then one interrupt
/// serves all of them: that cost is not comparable.
fn with_flows() -> Vec<Case> {
    let (name, flows) = FLOWS;
    vec![Case {
        name,
        shape: Shape::flows(flows, RATE_BPS / flows as u64),
    }]
}

/// Adds to each row its cost beyond the row without a scheduler.
pub fn with_cost(mut rows: Vec<Row>) -> Vec<Row> {
    let none = Scheduler::None.name();
    let baselines: Vec<(String, f64)> = rows
        .iter()
        .filter(|row| row.scheduler == none)
        .filter_map(|row| Some((row.case.clone(), row.number(BUSY)?)))
        .collect();
    for row in &mut rows {
        let baseline = baselines.iter().find(|(case, _)| *case == row.case);
        if let (Some((_, baseline_ns)), Some(busy_ns)) = (baseline, row.number(BUSY)) {
            row.metrics.extend(metrics([
                ("cost_ns_per_packet", json!((busy_ns - baseline_ns) as i64)),
                ("baseline_ns_per_packet", json!(*baseline_ns as i64)),
            ]));
        }
    }
    rows
}

impl Case {
    /// Can the scheduler express it?
    pub fn suits(&self, scheduler: Scheduler) -> bool {
        scheduler == Scheduler::None || setup(scheduler, &self.shape).is_some()
    }

    fn measure(&self, scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Metrics> {
        self.pumped(scheduler, root, |pump| figures(duration(short), pump))
    }

    /// Calls `measure` once all flows have packets queued.
    pub fn pumped<T>(
        &self,
        scheduler: Scheduler,
        root: &mut Root<'_>,
        measure: impl FnOnce(&mut Pump<'_>) -> Result<T>,
    ) -> Result<T> {
        let sources = Source::open(&self.shape, BACKLOG_MIN)?;
        let Some(setup) = setup(scheduler, &self.shape) else {
            root.detach()?;
            return without_queues(&self.shape, sources, measure);
        };
        // The case before must leave nothing: its queued packets would go first.
        root.detach()?;
        root.attach(scheduler.name(), &setup.qdisc)?;
        for (source, options) in sources.iter().zip(&setup.sockets) {
            source.configure(options)?;
        }
        with_queues(&self.shape, sources, measure)
    }
}

fn duration(short: bool) -> Duration {
    Duration::from_millis(if short { 200 } else { 4_000 })
}

fn tick() -> Duration {
    Duration::from_secs(1) / PACKETS_PER_S as u32
}

/// The cost of sending without a queue.
pub(super) fn unqueued(shape: &Shape, sources: Vec<Source>, short: bool) -> Result<Metrics> {
    without_queues(shape, sources, |pump| figures(duration(short), pump))
}

/// The cost through the attached scheduler.
pub(super) fn queued(shape: &Shape, sources: Vec<Source>, short: bool) -> Result<Metrics> {
    with_queues(shape, sources, |pump| figures(duration(short), pump))
}

fn without_queues<T>(
    shape: &Shape,
    sources: Vec<Source>,
    measure: impl FnOnce(&mut Pump<'_>) -> Result<T>,
) -> Result<T> {
    let flows = sources.len() as u32;
    let mut metronome = Metronome::new(shape, sources, tick())?;
    // Every socket has sent once before it counts.
    metronome.pump(WARM_UP.max(tick() * flows))?;
    measure(&mut |duration| metronome.pump(duration))
}

fn with_queues<T>(
    shape: &Shape,
    sources: Vec<Source>,
    measure: impl FnOnce(&mut Pump<'_>) -> Result<T>,
) -> Result<T> {
    let (flows, tick) = (sources.len() as u32, tick());
    let lasting = BACKLOG_LASTS.div_duration_f64(tick * flows).ceil() as u32;
    let mut traffic = Traffic::at_rest(shape, sources, Vec::new())?;
    // Each begins at its own turn; otherwise all would be due together.
    traffic.start_one_by_one(tick)?;
    // Only now, since filling long queues would delay the start of the next flow.
    traffic.keep_waiting(BACKLOG_MIN.max(lasting), shape)?;
    traffic.pump(WARM_UP.max(tick * flows))?;
    measure(&mut |duration| traffic.pump(duration))
}

fn figures(duration: Duration, pump: &mut Pump<'_>) -> Result<Metrics> {
    let (idle, before) = (Idle::now()?, pair::received()?);
    pump(duration)?;
    let (busy, after) = (Idle::now()?.since(&idle), pair::received()?);
    let packets = after.frames - before.frames;
    let bits = 8 * (after.bytes - before.bytes);
    Ok(metrics([
        (
            BUSY,
            json!((busy.busy.as_nanos() as u64).checked_div(packets)),
        ),
        (
            "interrupts_per_packet",
            json!(busy.interrupts_per_packet(packets)),
        ),
        ("packets", json!(packets)),
        ("target_bps", json!(RATE_BPS)),
        (
            "achieved_bps",
            json!(bits as f64 / busy.elapsed.as_secs_f64()),
        ),
        ("idle_share_percent", json!(busy.idle_share_percent())),
        ("duration_ns", json!(busy.elapsed.as_nanos() as u64)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_what_is_needed_more_than_without_a_scheduler() {
        let row = |scheduler: &str, case: &str, busy_ns: u64| Row {
            scheduler: scheduler.to_owned(),
            case: case.to_owned(),
            metrics: metrics([(BUSY, json!(busy_ns))]),
        };
        let rows = with_cost(vec![
            row("none", "a", 100),
            row("fq", "a", 130),
            row("fq", "b", 130),
        ]);
        assert_eq!(rows[1].metrics["cost_ns_per_packet"], json!(30));
        assert!(!rows[2].metrics.contains_key("cost_ns_per_packet"));
    }
}

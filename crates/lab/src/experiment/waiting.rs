//! The cost of packets that wait: the processor's whole work for one, sending
//! included, while every class is backlogged and most of the time is idle.

use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use super::error::Result;
use super::load::Idle;
use super::metrics::{Metrics, metrics};
use super::pair;
use super::root::Root;
use super::scheduler::Scheduler;
use super::setup::setup;
use super::shape::Shape;
use super::source::Source;
use super::traffic::Traffic;

const CASES: [(&str, u64); 2] = [("1-class-waiting", 1), ("2000-classes-waiting", 2000)];
/// All classes together, an eighth of what the processor can carry: each of
/// 2,000 sends four frames a second, so that whole seconds hold whole rounds.
const RATE_BPS: u64 = 2000 * 4 * 1514 * 8;
/// Packets each class keeps waiting, at most.
const BACKLOG: u32 = 4;
const WARM_UP: Duration = Duration::from_millis(500);

/// No row for a scheduler that cannot express every case: one number is
/// nothing to compare.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Vec<Row>> {
    let duration = Duration::from_secs(if short { 1 } else { 4 });
    let setups: Option<Vec<_>> = CASES
        .iter()
        .map(|(case, classes)| {
            let shape = Shape::udp((0..*classes).map(|_| RATE_BPS / classes));
            let setup = setup(scheduler, &shape)?;
            Some((case, shape, setup))
        })
        .collect();
    let mut rows = Vec::new();
    for (case, shape, setup) in setups.into_iter().flatten() {
        eprintln!("cost: {}, {case}", scheduler.name());
        root.attach(scheduler, &setup.qdisc)?;
        let sources = Source::open(&shape, BACKLOG)?;
        for (source, options) in sources.iter().zip(&setup.sockets) {
            source.configure(options)?;
        }
        rows.push(Row {
            scheduler: scheduler.name().to_owned(),
            case: (*case).to_owned(),
            metrics: measure(Traffic::new(&shape, sources, Vec::new())?, duration)?,
        });
    }
    Ok(rows)
}

fn measure(mut traffic: Traffic, duration: Duration) -> Result<Metrics> {
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
        ("target_bps", json!(RATE_BPS)),
        (
            "achieved_bps",
            json!(bits as f64 / busy.elapsed.as_secs_f64()),
        ),
        ("idle_share_percent", json!(busy.idle_share_percent())),
        ("duration_ns", json!(busy.elapsed.as_nanos() as u64)),
    ]))
}

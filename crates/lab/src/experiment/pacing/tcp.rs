//! The pacing of a TCP connection, iperf3's.

use std::time::{Duration, Instant};

use serde_json::json;
use takt_report::{Row, rate_error_ppm};

use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::iperf::{Client, PORT, Server};
use crate::experiment::load::Idle;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair;
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Setup, setup};
use crate::experiment::shape::Shape;

const CASE: &str = "tcp-100mbit";
const RATE_BPS: u64 = 100_000_000;
/// Slow start is over after this.
const WARM_UP: Duration = Duration::from_millis(300);
/// The time that iperf3 runs beyond the measurement.
const AFTERWARDS: Duration = Duration::from_millis(200);

/// `None` if the scheduler cannot express this case.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Option<Row>> {
    let shape = Shape::tcp("iperf3", PORT, RATE_BPS);
    let Some(setup) = setup(scheduler, &shape) else {
        return Ok(None);
    };
    eprintln!("pacing: {}, {CASE}", scheduler.name());
    let duration = Duration::from_millis(if short { 500 } else { 7_500 });
    let _single_frames = pair::with_single_frames()?;
    root.attach(scheduler.name(), &setup.qdisc)?;
    Ok(Some(Row {
        scheduler: scheduler.name().to_owned(),
        case: CASE.to_owned(),
        metrics: measure(&shape, scheduler, &setup, duration)?,
    }))
}

/// The rate is that of the frames that came out of the cable, by its own counters: with
/// headers, as the schedulers count them, without acknowledgements. iperf3 itself counts
/// payload, in blocks of 128 KB.
fn measure(
    shape: &Shape,
    scheduler: Scheduler,
    setup: &Setup,
    duration: Duration,
) -> Result<Metrics> {
    let _server = Server::start()?;
    let options = setup.sockets.first().copied().unwrap_or_default();
    let client = Client::start(shape, options, WARM_UP + duration + AFTERWARDS)?;
    std::thread::sleep(WARM_UP);
    let (idle, started, before) = (Idle::now()?, Instant::now(), pair::received()?);
    std::thread::sleep(duration);
    let (elapsed, after) = (started.elapsed(), pair::received()?);
    let busy = Idle::now()?.since(&idle);
    let summary = client.finish()?;

    let bytes = after.bytes - before.bytes;
    let achieved_bps = bytes as f64 * 8.0 / elapsed.as_secs_f64();
    let rate_error_ppm = rate_error_ppm(achieved_bps, RATE_BPS as f64);
    if bytes == 0 {
        return Err(ExperimentError::NoTraffic {
            scheduler: scheduler.name(),
            case: CASE.to_owned(),
            sent: 0,
            received: 0,
        });
    }
    Ok(metrics([
        ("target_bps", json!(RATE_BPS)),
        ("achieved_bps", json!(achieved_bps)),
        ("rate_error_ppm", json!(rate_error_ppm)),
        (
            "goodput_bps",
            summary["sum_received"]["bits_per_second"].clone(),
        ),
        ("packets", json!(after.frames - before.frames)),
        (
            "packets_retransmitted",
            summary["sum_sent"]["retransmits"].clone(),
        ),
        ("duration_ns", json!(elapsed.as_nanos() as u64)),
        ("idle_share_percent", json!(busy.idle_share_percent())),
    ]))
}

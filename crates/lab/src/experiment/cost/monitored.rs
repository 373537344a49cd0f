//! The cost of watching TCP: the processor's whole work for one packet of a bulk transfer,
//! acknowledgements and the receiver included, while `takt flows` records it, and while `ss`
//! prints it equally often. The cost of the same transfer unwatched is subtracted.
//!
//! Sender and receiver share the processor, so the cost is about twice as large a part of the
//! sender's own work.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use super::waiting;
use crate::experiment::bench::Bench;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::iperf::{Client, PORT, Server};
use crate::experiment::load::Idle;
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair::{self, A, DEVICE};
use crate::experiment::root::Root;
use crate::experiment::setup::{Qdisc, SocketOptions};
use crate::experiment::shape::Shape;

/// Three quarters of what the processor can carry: the sender is busy, and idle time is
/// counted.
const RATE_BPS: u64 = 250_000_000;
/// A short run has only the first.
const CASES: [(&str, usize); 2] = [("1-tcp-flow-watched", 1), ("100-tcp-flows-watched", 100)];
/// Slow start is over, and the watcher has begun.
const WARM_UP: Duration = Duration::from_secs(2);
/// The time that iperf3 runs beyond the measurement.
const AFTERWARDS: Duration = Duration::from_millis(500);
const RECORD: &str = "/lab/cost.flows";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watcher {
    None,
    Takt,
    Ss,
}

impl Watcher {
    const ALL: [Self; 3] = [Self::None, Self::Takt, Self::Ss];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Takt => "takt",
            Self::Ss => "ss",
        }
    }

    /// Ten times a second, until it is dropped.
    fn start(self, takt: &Path) -> Result<Option<Watching>> {
        let mut command = match self {
            Self::None => return Ok(None),
            Self::Takt => {
                let mut command = Command::new(takt);
                command.args(["flows", "--interval", "100ms", "--record", RECORD]);
                command
            }
            Self::Ss => {
                let mut command = Command::new("sh");
                let look = format!("ss --tcp --info --memory --numeric > {RECORD}");
                command.args(["-c", &format!("while sleep 0.1; do {look}; done")]);
                command
            }
        };
        let started = A.run(|| {
            let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
            child.doing("start the program that watches flows")
        });
        started.map(|child| Some(Watching(child)))
    }
}

/// Killed when it is dropped: nothing of it stays.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Frames have their receivers' addresses here, unlike in the rest of this experiment.
pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut root = Root::new(bench.takt());
    let cases = if bench.short { &CASES[..1] } else { &CASES };
    for &(case, flows) in cases {
        for watcher in Watcher::ALL {
            eprintln!("cost: {}, {case}", watcher.name());
            root.detach()?;
            root.attach("tbf", &link())?;
            rows.push(Row {
                scheduler: watcher.name().to_owned(),
                case: case.to_owned(),
                metrics: measure(bench, watcher, flows)?,
            });
        }
    }
    root.detach()?;
    let mut rows = waiting::with_cost(rows);
    for row in &mut rows {
        let of = (
            row.number("cost_ns_per_packet"),
            row.number("baseline_ns_per_packet"),
        );
        if let (Some(cost_ns), Some(baseline_ns)) = of {
            let percent = json!(100.0 * cost_ns / baseline_ns);
            row.metrics.extend(metrics([("cost_percent", percent)]));
        }
    }
    Ok(rows)
}

/// A queue that fills and drops, so that there are events.
fn link() -> Qdisc {
    Qdisc::Tc(vec![format!(
        "qdisc replace dev {DEVICE} root tbf rate {RATE_BPS}bit burst 3028 limit 375000"
    )])
}

fn measure(bench: &Bench, watcher: Watcher, flows: usize) -> Result<Metrics> {
    let duration = Duration::from_secs(if bench.short { 2 } else { 8 });
    let shape = Shape {
        flows_per_class: Some(flows),
        ..Shape::tcp("iperf3", PORT, RATE_BPS)
    };
    let _server = Server::start()?;
    let total = WARM_UP + duration + AFTERWARDS;
    let client = Client::start(&shape, SocketOptions::default(), total)?;
    let _watching = watcher.start(bench.takt())?;
    sleep(WARM_UP);
    let (idle, before) = (Idle::now()?, pair::received()?);
    sleep(duration);
    let (busy, after) = (Idle::now()?.since(&idle), pair::received()?);
    let summary = client.finish()?;
    let packets = after.frames - before.frames;
    let bits = 8 * (after.bytes - before.bytes);
    Ok(metrics([
        (
            waiting::BUSY,
            json!((busy.busy.as_nanos() as u64).checked_div(packets)),
        ),
        ("flows", json!(flows)),
        ("packets", json!(packets)),
        (
            "packets_retransmitted",
            summary["sum_sent"]["retransmits"].clone(),
        ),
        ("target_bps", json!(RATE_BPS)),
        (
            "achieved_bps",
            json!(bits as f64 / busy.elapsed.as_secs_f64()),
        ),
        ("idle_share_percent", json!(busy.idle_share_percent())),
        ("duration_ns", json!(busy.elapsed.as_nanos() as u64)),
    ]))
}

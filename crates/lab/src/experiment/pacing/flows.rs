//! Thousands of flows, each with its own rate: does each get it?
//!
//! Each flow is a connected UDP socket without options for Takt: one class with `per_flow =
//! true` paces them all. A flow's rate is the class's, so its share does not depend on the
//! number of flows.

use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use super::arrivals::{Observed, together};
use super::length::Length;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Setup, setup};
use crate::experiment::shape::Shape;
use crate::experiment::sink::Sink;
use crate::experiment::source::Source;
use crate::experiment::traffic::{Flow, Traffic, Window};

/// The most packets that each flow keeps queued: one that is due and the next.
const BACKLOG: u32 = 2;
/// A flow is off if it is this far from its rate, plus a packet.
const TOLERANCE: f64 = 0.01;
const TOLERANCE_PACKETS: f64 = 1.0;

struct Case {
    name: &'static str,
    flows: usize,
    rate_bps: u64,
    length: Length,
}

const CASES: [Case; 2] = [
    Case {
        name: "flows-2000x100kbit",
        flows: 2_000,
        rate_bps: 100_000,
        length: Length::ms(20_000, 600),
    },
    Case {
        name: "flows-10000x20kbit",
        flows: 10_000,
        rate_bps: 20_000,
        // A short run would mostly open sockets.
        length: Length::only_full_ms(60_000),
    },
];

/// Rows of every case that the scheduler can express.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let wanted = CASES
        .iter()
        .filter_map(|case| Some((case, case.length.of(short)?)));
    for (case, length) in wanted {
        let shape = Shape::flows(case.flows, case.rate_bps);
        if let Some(setup) = setup(scheduler, &shape) {
            eprintln!("pacing: {}, {}", scheduler.name(), case.name);
            root.attach(scheduler.name(), &setup.qdisc)?;
            rows.push(Row {
                scheduler: scheduler.name().to_owned(),
                case: case.name.to_owned(),
                metrics: case.measure(scheduler, &shape, &setup, length)?,
            });
        }
    }
    Ok(rows)
}

impl Case {
    fn measure(
        &self,
        scheduler: Scheduler,
        shape: &Shape,
        setup: &Setup,
        duration: Duration,
    ) -> Result<Metrics> {
        let sources = Source::open(shape, BACKLOG)?;
        for (source, options) in sources.iter().zip(&setup.sockets) {
            source.configure(options)?;
        }
        let sinks = Sink::open(shape, duration)?;
        let mut traffic = Traffic::at_rest(shape, sources, sinks)?;
        // Clients do not start at the same time: their first packets are spread over the time
        // in which each sends one.
        let period_ns = self.packet_ns(shape);
        traffic.start_one_by_one(Duration::from_nanos(period_ns as u64) / self.flows as u32)?;
        let window = traffic.run(Duration::from_nanos(period_ns as u64), duration)?;
        let flows = traffic.finish()?;

        let observed = flows
            .iter()
            .map(|flow| {
                Observed::new(flow, &window, self.rate_bps, shape.frame_bytes()).ok_or_else(|| {
                    ExperimentError::NoTraffic {
                        scheduler: scheduler.name(),
                        case: self.name.to_owned(),
                        sent: flow.sent,
                        received: flow.record.arrivals_ns.len() as u64,
                    }
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut row = together(&observed);
        row.remove("classes");
        row.extend(metrics([
            ("flows", json!(flows.len())),
            ("flows_off", json!(self.off(&flows, &window, period_ns))),
            (
                "flow_error_max_percent",
                json!(
                    observed
                        .iter()
                        .map(Observed::rate_error_percent)
                        .fold(0.0, f64::max)
                ),
            ),
            ("duration_ns", json!(window.end_ns - window.start_ns)),
            (
                "idle_share_percent",
                json!(window.busy.idle_share_percent()),
            ),
        ]));
        Ok(row)
    }

    /// Flows of which more or fewer packets arrived than their rate allows.
    fn off(&self, flows: &[Flow], window: &Window, packet_ns: f64) -> usize {
        let wanted = (window.end_ns - window.start_ns) as f64 / packet_ns;
        flows
            .iter()
            .filter(|flow| is_off(flow.arrivals_within(window).len() as f64, wanted))
            .count()
    }

    fn packet_ns(&self, shape: &Shape) -> f64 {
        f64::from(shape.frame_bytes()) * 8e9 / self.rate_bps as f64
    }
}

fn is_off(packets: f64, wanted: f64) -> bool {
    (packets - wanted).abs() > TOLERANCE * wanted + TOLERANCE_PACKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_may_be_off_by_one_percent_and_a_packet() {
        assert!(!is_off(200.0 + 3.0, 200.0));
        assert!(is_off(200.0 - 3.1, 200.0));
        assert!(!is_off(10.0 - 1.1, 10.0));
    }
}

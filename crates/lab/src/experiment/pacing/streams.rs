//! Sixty-four TCP streams of one iperf3, each paced by itself.

use std::time::Duration;

use serde_json::{Value, json};
use takt_report::Row;

use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::iperf::{Client, PORT, Server};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::pair;
use crate::experiment::root::Root;
use crate::experiment::scheduler::Scheduler;
use crate::experiment::setup::{Setup, setup};
use crate::experiment::shape::Shape;

const CASE: &str = "client-iperf3-64x1mbit";
const STREAMS: usize = 64;
const RATE_BPS: u64 = 1_000_000;

/// `None` if the scheduler cannot express this case.
pub fn run(scheduler: Scheduler, root: &mut Root<'_>, short: bool) -> Result<Option<Row>> {
    let shape = Shape {
        flows_per_class: Some(STREAMS),
        ..Shape::tcp("iperf3", PORT, RATE_BPS)
    };
    let Some(setup) = setup(scheduler, &shape) else {
        return Ok(None);
    };
    eprintln!("pacing: {}, {CASE}", scheduler.name());
    let duration = Duration::from_secs(if short { 1 } else { 10 });
    let _single_frames = pair::with_single_frames()?;
    root.attach(scheduler.name(), &setup.qdisc)?;
    Ok(Some(Row {
        scheduler: scheduler.name().to_owned(),
        case: CASE.to_owned(),
        metrics: measure(&shape, &setup, duration)?,
    }))
}

/// The figures are iperf3's own: the payload each stream's receiver counted.
fn measure(shape: &Shape, setup: &Setup, duration: Duration) -> Result<Metrics> {
    let _server = Server::start()?;
    let options = setup.sockets.first().copied().unwrap_or_default();
    let summary = Client::start(shape, options, duration)?.finish()?;
    let goodputs_bps = goodputs_bps(&summary)?;
    let target_bps = shape.tcp_goodput_bps(RATE_BPS) as f64;
    let error_percent = |bps: &f64| (bps / target_bps - 1.0).abs() * 100.0;
    Ok(metrics([
        ("flows", json!(goodputs_bps.len())),
        ("target_bps", json!(target_bps * goodputs_bps.len() as f64)),
        ("goodput_bps", json!(goodputs_bps.iter().sum::<f64>())),
        (
            "flow_error_max_percent",
            json!(goodputs_bps.iter().map(error_percent).fold(0.0, f64::max)),
        ),
        (
            "packets_retransmitted",
            summary["sum_sent"]["retransmits"].clone(),
        ),
        ("duration_ns", json!(duration.as_nanos() as u64)),
    ]))
}

fn goodputs_bps(summary: &Value) -> Result<Vec<f64>> {
    let streams = summary["streams"].as_array().map_or(&[][..], Vec::as_slice);
    let goodputs_bps: Vec<f64> = streams
        .iter()
        .filter_map(|stream| stream["receiver"]["bits_per_second"].as_f64())
        .collect();
    if goodputs_bps.len() == STREAMS {
        return Ok(goodputs_bps);
    }
    Err(ExperimentError::Output {
        command: "iperf3 --client".to_owned(),
        reason: format!("{} of {STREAMS} streams in it", goodputs_bps.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_counts() {
        let stream = json!({ "receiver": { "bits_per_second": 5.0 } });
        let summary = json!({ "streams": vec![stream; STREAMS] });
        assert_eq!(goodputs_bps(&summary).unwrap(), [5.0; STREAMS]);
        assert!(goodputs_bps(&json!({ "streams": [] })).is_err());
    }
}

//! One class's rate, sent for from all processors at once: is it kept over all queues?

use std::time::Duration;

use serde_json::json;
use takt_report::Row;

use super::contender::Contender;
use super::senders;
use crate::experiment::bench::Bench;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::metrics::metrics;
use crate::experiment::root::Root;
use crate::experiment::shape::Shape;

/// Half of what an emulated processor can send.
const RATE_BPS: u64 = 40_000_000;
/// IP and UDP headers.
const HEADERS_BYTES: usize = 20 + 8;

pub fn run(bench: &Bench, processors: &[usize]) -> Result<Vec<Row>> {
    let length = Duration::from_secs(if bench.short { 2 } else { 10 });
    let shape = Shape::udp([RATE_BPS]);
    let payload_bytes = shape.packet_bytes as usize - HEADERS_BYTES;
    let mut rows = Vec::new();
    for contender in Contender::ALL {
        let Some(setup) = contender.setup(&shape, processors.len()) else {
            continue;
        };
        let mut root = Root::new(bench.takt());
        match root.attach(contender.name(), &setup.qdisc) {
            Err(ExperimentError::Unsupported { .. }) => continue,
            attached => attached?,
        }
        eprintln!("queues: one rate, {}", contender.name());
        let arrived = senders::send(processors, &setup.sockets[0], payload_bytes, length)?;
        root.detach()?;
        let achieved_bps = 8.0 * arrived.bytes as f64 / arrived.elapsed.as_secs_f64();
        let error_ppm = (achieved_bps / RATE_BPS as f64 - 1.0) * 1e6;
        rows.push(Row {
            scheduler: contender.name().to_owned(),
            case: format!("one-rate-{}-processors", processors.len()),
            metrics: metrics([
                ("rate_error_ppm", json!((error_ppm * 10.0).round() / 10.0)),
                ("target_bps", json!(RATE_BPS)),
                ("achieved_bps", json!(achieved_bps.round())),
            ]),
        });
    }
    Ok(rows)
}

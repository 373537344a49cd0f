//! Small packets from all processors, with no rate in the way: who waits for whose lock?

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

const PAYLOAD_BYTES: usize = 64;
const RATE_BPS: u64 = 50_000_000_000;

/// A contender's packets per second in each round, as a part of the reference's in that round.
struct Tried {
    contender: Contender,
    per_s: Vec<f64>,
    parts: Vec<f64>,
}

/// Rounds in which each contender has its turn: the host is never equally busy for long.
pub fn run(bench: &Bench, processors: &[usize]) -> Result<Vec<Row>> {
    let (rounds, length) = if bench.short {
        (2, Duration::from_millis(500))
    } else {
        (9, Duration::from_secs(1))
    };
    let shape = Shape {
        waits: false,
        ..Shape::udp([RATE_BPS])
    };
    let mut tried: Vec<Tried> = Contender::ALL
        .into_iter()
        .map(|contender| Tried {
            contender,
            per_s: Vec::new(),
            parts: Vec::new(),
        })
        .collect();
    for round in 1..=rounds {
        let count = processors.len();
        eprintln!("queues: {count} processors, round {round} of {rounds}");
        // The first contender.
        let mut reference = None;
        let mut able = Vec::new();
        for mut one in tried {
            let Some(per_s) = once(bench, one.contender, &shape, processors, length)? else {
                continue;
            };
            one.parts.push(per_s / *reference.get_or_insert(per_s));
            one.per_s.push(per_s);
            able.push(one);
        }
        tried = able;
    }
    Ok(tried
        .into_iter()
        .map(|one| one.row(processors.len()))
        .collect())
}

/// `None`: the kernel or the shape has no such qdisc.
fn once(
    bench: &Bench,
    contender: Contender,
    shape: &Shape,
    processors: &[usize],
    length: Duration,
) -> Result<Option<f64>> {
    let Some(setup) = contender.setup(shape, processors.len()) else {
        return Ok(None);
    };
    let mut root = Root::new(bench.takt());
    match root.attach(contender.name(), &setup.qdisc) {
        Err(missing @ ExperimentError::Unsupported { .. }) => {
            eprintln!("{} is left out: {missing}", contender.name());
            return Ok(None);
        }
        attached => attached?,
    }
    let arrived = senders::send(processors, &setup.sockets[0], PAYLOAD_BYTES, length)?;
    root.detach()?;
    Ok(Some(arrived.frames_per_s()))
}

impl Tried {
    fn row(mut self, processors: usize) -> Row {
        let percent = |part: f64| json!((part * 1e4).round() / 1e2);
        let per_s = median(&mut self.per_s);
        let part = median(&mut self.parts);
        Row {
            scheduler: self.contender.name().to_owned(),
            case: format!("small-packets-{processors}-processors"),
            metrics: metrics([
                ("throughput_percent", percent(part)),
                ("throughput_least_percent", percent(self.parts[0])),
                (
                    "throughput_most_percent",
                    percent(self.parts[self.parts.len() - 1]),
                ),
                ("packets_per_s", json!(per_s.round())),
            ]),
        }
    }
}

/// Of figures that are sorted by it; there is at least one.
fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_middle_round() {
        let row = Tried {
            contender: Contender::MqFq,
            per_s: vec![3.0, 1.0, 2.0],
            parts: vec![0.9, 1.1, 1.0],
        }
        .row(2);
        assert_eq!(row.case, "small-packets-2-processors");
        assert_eq!(row.metrics["throughput_percent"], json!(100.0));
        assert_eq!(row.metrics["throughput_least_percent"], json!(90.0));
        assert_eq!(row.metrics["throughput_most_percent"], json!(110.0));
        assert_eq!(row.metrics["packets_per_s"], json!(2.0));
    }
}

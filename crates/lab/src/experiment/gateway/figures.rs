//! From records to metrics.

use std::time::Duration;

use serde_json::{Value, json};
use takt_report::nearest_rank;

use super::case::{FLOOD_BYTES, Traffic};
use super::line::{Line, Way};
use super::network::Counters;
use super::segments::Segments;
use super::stream::{Direction, Stream};
use super::talk::{Delays, Record, Talk};
use crate::experiment::load::Busy;
use crate::experiment::metrics::Metrics;

const IDLE_SHARE: &str = "idle_share_percent";

/// The clock of receive stamps, at the ends of the time without load or of the measured time.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub begin_ns: u64,
    pub end_ns: u64,
}

impl From<(u64, u64)> for Span {
    fn from((begin_ns, end_ns): (u64, u64)) -> Self {
        Self { begin_ns, end_ns }
    }
}

impl Span {
    fn seconds(self) -> f64 {
        (self.end_ns - self.begin_ns) as f64 / 1e9
    }
}

/// A talk's delays over its own median without load, and its losses, under `name`.
fn add_delays(metrics: &mut Metrics, name: &str, talk: &Talk, idle: Span, loaded: Span) {
    let mut lost = 0;
    for (way, record) in [("up", &talk.up), ("down", &talk.down)] {
        let delays = record.between(loaded.begin_ns, loaded.end_ns);
        lost += delays.lost;
        let base_ns = base_ns(record, idle);
        for (quantile, per_mille) in [("p50", 500), ("p99", 990), ("max", 1000)] {
            if let (Some(ns), Some(base_ns)) = (delays.quantile_ns(per_mille), base_ns) {
                let added_ns = ns.saturating_sub(base_ns);
                metrics.insert(format!("{name}_{way}_{quantile}_ns"), json!(added_ns));
            }
        }
    }
    metrics.insert(format!("{name}_lost_count"), json!(lost));
}

fn base_ns(record: &Record, idle: Span) -> Option<u64> {
    let idle = record.between(idle.begin_ns, idle.end_ns);
    idle.quantile_ns(500)
}

/// Of all talks: a ping's delays, and a call's, a game's, or what arrived of a flood.
pub fn of_talks(metrics: &mut Metrics, traffic: Traffic, talks: &[Talk], idle: Span, loaded: Span) {
    let names = ["ping", "call", "game"];
    if let (Traffic::Forwarded, [talk]) = (traffic, talks) {
        return add_cost(metrics, talk, loaded);
    }
    for (name, talk) in names.into_iter().zip(talks) {
        if let (Traffic::Flood(direction), "call") = (traffic, name) {
            let record = match direction {
                Direction::Up => &talk.up,
                Direction::Down => &talk.down,
            };
            let delays = record.between(loaded.begin_ns, loaded.end_ns);
            let bps = bps(delays.arrived() as u64 * u64::from(FLOOD_BYTES), loaded);
            metrics.insert("flood_bps".to_owned(), json!(bps));
            continue;
        }
        add_delays(metrics, name, talk, idle, loaded);
    }
}

/// All the processor's work for each of a talk's packets, both ends included.
fn add_cost(metrics: &mut Metrics, talk: &Talk, loaded: Span) {
    let ways = [&talk.up, &talk.down].map(|way| way.between(loaded.begin_ns, loaded.end_ns));
    let packets: usize = ways.iter().map(Delays::arrived).sum();
    let idle = metrics.get(IDLE_SHARE).and_then(Value::as_f64);
    let busy_ns = loaded.seconds() * 1e9 * (1.0 - idle.unwrap_or(100.0) / 100.0);
    let each_ns = (busy_ns / packets.max(1) as f64).round();
    metrics.insert("busy_ns_per_packet".to_owned(), json!(each_ns));
}

/// Totals by direction, and the last stream's share where it is one host's only one.
pub fn of_streams(
    metrics: &mut Metrics,
    traffic: Traffic,
    streams: &[Stream],
    bytes: &[u64],
    span: Span,
) {
    for (name, direction) in [("up_bps", Direction::Up), ("down_bps", Direction::Down)] {
        let both = streams.iter().zip(bytes);
        let mine = both.filter(|(stream, _)| stream.direction == direction);
        let total: u64 = mine.map(|(_, bytes)| *bytes).sum();
        if total > 0 {
            metrics.insert(name.to_owned(), json!(bps(total, span)));
        }
    }
    if matches!(traffic, Traffic::Fair(..) | Traffic::FairAtOneServer(_)) {
        let share = last_share_percent(bytes);
        metrics.insert("one_share_percent".to_owned(), json!(share));
    }
}

pub fn of_segments(metrics: &mut Metrics, segments: Segments) {
    let Segments {
        sent_again,
        duplicate,
    } = segments;
    metrics.insert("segments_retransmitted".to_owned(), json!(sent_again));
    metrics.insert("segments_duplicate".to_owned(), json!(duplicate));
}

/// How long pages took.
pub fn of_pages(metrics: &mut Metrics, mut pages: Vec<Duration>) {
    pages.sort_unstable();
    for (name, per_mille) in [("page_p50_ns", 500), ("page_max_ns", 1000)] {
        if let Some(took) = nearest_rank(&pages, per_mille) {
            metrics.insert(name.to_owned(), json!(took.as_nanos() as u64));
        }
    }
    if !pages.is_empty() {
        metrics.insert("pages_count".to_owned(), json!(pages.len()));
    }
}

/// Of IP packets or payload.
fn bps(bytes: u64, span: Span) -> f64 {
    (8.0 * bytes as f64 / span.seconds()).round()
}

/// The last stream's part of all.
fn last_share_percent(bytes: &[u64]) -> f64 {
    let all: u64 = bytes.iter().sum();
    let last = bytes.last().copied().unwrap_or(0);
    100.0 * last as f64 / all.max(1) as f64
}

/// What was on the line, as frames without their check sequence. Where a direction has streams:
/// how far that is from its shaped rate, and what the gateway passed on of what came in.
pub fn of_line(metrics: &mut Metrics, line: Line, from: Counters, to: Counters, span: Span) {
    let rate = |before: u64, after: u64| bps(after - before, span);
    let line_down = rate(from.line_down, to.line_down);
    let line_up = rate(from.line_up, to.line_up);
    let passed_down = rate(from.passed_down, to.passed_down);
    let error = |bps: f64, of: u64| 100.0 * (bps / of as f64 - 1.0);
    let [down, up] = [line.down, line.up].map(Way::shaped_bps);
    metrics.insert("line_down_bps".to_owned(), json!(line_down));
    metrics.insert("line_up_bps".to_owned(), json!(line_up));
    for (streams, name, value) in [
        ("down_bps", "down_error_percent", error(line_down, down)),
        ("down_bps", "passed_error_percent", error(passed_down, down)),
        ("up_bps", "up_error_percent", error(line_up, up)),
    ] {
        if metrics.contains_key(streams) {
            metrics.insert(name.to_owned(), json!(value));
        }
    }
}

pub fn of_processor(metrics: &mut Metrics, busy: &Busy) {
    let idle = busy.idle_share_percent();
    metrics.insert(IDLE_SHARE.to_owned(), json!(idle));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_bytes() {
        assert_eq!(last_share_percent(&[25, 25, 50]), 50.0);
        assert_eq!(last_share_percent(&[]), 0.0);
    }

    #[test]
    fn rates_are_of_the_measured_time() {
        let span = Span::from((1_000_000_000, 3_000_000_000));
        assert_eq!(bps(250_000, span), 1_000_000.0);
        let counters = |line_down, line_up, passed_down| Counters {
            line_down,
            line_up,
            passed_down,
        };
        let mut metrics = Metrics::from([("down_bps".to_owned(), json!(1))]);
        of_line(
            &mut metrics,
            Line::named("20/5").unwrap(),
            counters(0, 0, 0),
            counters(4_900_000, 1_187_500, 4_702_500),
            span,
        );
        assert_eq!(metrics["line_down_bps"], json!(19_600_000.0));
        assert!(!metrics.contains_key("up_error_percent"));
        let error = metrics["passed_error_percent"].as_f64().unwrap();
        assert!((error + 1.0).abs() < 1e-9, "{error}");
    }
}

//! From a cell's records to figures.

use std::time::Duration;

use serde_json::{Value, json};
use takt_medium::Profile;
use takt_medium::theory::Saturation;
use takt_report::nearest_rank;

use super::case::{Case, Traffic};
use super::cell::{Cell, INTERVAL, PROFILE, RATE, Seen};
use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::radio::{jain, rate_bps};
use crate::experiment::wlan::AirStatistics;

/// A full frame on the air.
const FRAME_BYTES: u32 = 1514;

pub fn of(cell: &Cell, seen: &Seen) -> Metrics {
    let case = &cell.case;
    let rates = rates_bps(cell, seen);
    let (least_bps, most_bps) = ends(&rates);
    let played = &seen.played;
    let told = || played.flows.iter().map(|(_, heard)| &heard.sender);
    let mut round_trips_ns: Vec<u64> = told()
        .flat_map(|told| &told.round_trips_us)
        .map(|us| us * 1000)
        .collect();
    round_trips_ns.sort_unstable();
    let mut windows: Vec<u64> = told().flat_map(|told| &told.windows).copied().collect();
    windows.sort_unstable();
    let min_ns = round_trips_ns.first().copied().unwrap_or_default();
    let p99_ns = nearest_rank(&round_trips_ns, 990);
    let air = air(cell, seen);
    let length_ns = cell.length.as_nanos() as u64;
    let attempts = sum(seen.air.stations.iter().map(|one| one.attempts));
    let collisions = sum(seen.air.stations.iter().map(|one| one.collisions));

    let mut found = metrics([
        ("terminals", json!(case.terminals)),
        ("wired_rtt_ns", json!(case.wired_rtt.as_nanos() as u64)),
        ("total_bps", json!(rates.iter().sum::<f64>())),
        ("least_bps", json!(least_bps)),
        ("most_bps", json!(most_bps)),
        ("terminals_bps", json!(rates)),
        ("jain_index", json!(jain(&rates))),
        ("rtt_samples", json!(round_trips_ns.len())),
        ("rtt_min_ns", json!(min_ns)),
        ("rtt_p50_ns", json!(nearest_rank(&round_trips_ns, 500))),
        ("rtt_p99_ns", json!(p99_ns)),
        ("rtt_max_ns", json!(round_trips_ns.last())),
        (
            "rtt_p99_over_min",
            json!(p99_ns.map(|p99_ns| ratio(p99_ns, min_ns))),
        ),
        (
            "retransmitted_segments",
            json!(played.retransmitted_segments),
        ),
        ("window_p50_segments", json!(nearest_rank(&windows, 500))),
        ("window_p99_segments", json!(nearest_rank(&windows, 990))),
        (
            "air_idle_percent",
            json!(100.0 - percent(air.busy_ns, length_ns)),
        ),
        (
            "air_collisions_percent",
            json!(percent(collisions, attempts)),
        ),
        ("air_frames", json!(air.frames)),
        ("reports", json!(air.reports)),
        (
            "reports_air_ppm",
            json!(1e6 * ratio(air.reports_ns, length_ns)),
        ),
        (
            "air_gap_ns",
            json!(seen.air.gap_sum_ns.checked_div(seen.air.gaps)),
        ),
        (
            "processor_idle_percent",
            json!(played.busy.idle_share_percent()),
        ),
        ("duration_ns", json!(length_ns)),
    ]);
    if let Some(floor_ns) = floor_ns(case) {
        found.extend(metrics([
            ("rtt_floor_ns", json!(floor_ns)),
            (
                "rtt_p99_over_floor",
                json!(p99_ns.map(|p99_ns| p99_ns as f64 / floor_ns)),
            ),
        ]));
    }
    if case.stranger.is_some()
        && let Some((stranger, others)) = rates.split_last()
    {
        let equal = rates.iter().sum::<f64>() / rates.len() as f64;
        let share = |bps: f64| json!(100.0 * bps / equal.max(1.0));
        found.insert("stranger_share_percent".to_owned(), share(*stranger));
        found.insert("least_share_percent".to_owned(), share(ends(others).0));
    }
    found.insert("flows_lines".to_owned(), json!(seen.recorded));
    found.retain(|_, value| *value != Value::Null);
    found
}

/// Of each terminal, both directions. Guests are left out: they were there for a third of the
/// time.
fn rates_bps(cell: &Cell, seen: &Seen) -> Vec<f64> {
    let mut bytes = vec![0; cell.case.terminals];
    for (flow, heard) in &seen.played.flows {
        if flow.ends.is_none() {
            bytes[flow.station.index()] += heard.received.bytes();
        }
    }
    let is_host = |station: &usize| {
        let mut flows = seen.played.flows.iter().map(|(flow, _)| flow);
        flows.any(|flow| flow.station.index() == *station && flow.ends.is_none())
    };
    (0..cell.case.terminals)
        .filter(is_host)
        .map(|station| rate_bps(bytes[station], cell.length))
        .collect()
}

fn ends(rates: &[f64]) -> (f64, f64) {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    (least, rates.iter().copied().fold(0.0, f64::max))
}

/// In the window, which begins and ends with intervals.
fn air(cell: &Cell, seen: &Seen) -> AirStatistics {
    let interval_ns = INTERVAL.as_nanos() as u64;
    let from = seen.window.begin_ns.saturating_sub(seen.began_ns) / interval_ns;
    let count = cell.length.as_nanos() as u64 / interval_ns;
    let intervals = seen.air.air.iter().skip(from as usize).take(count as usize);
    intervals.fold(AirStatistics::default(), |sum, one| AirStatistics {
        busy_ns: sum.busy_ns + one.busy_ns,
        frames: sum.frames + one.frames,
        reports: sum.reports + one.reports,
        reports_ns: sum.reports_ns + one.reports_ns,
    })
}

/// The least round trip that contention allows where all terminals send: the wire, and a frame
/// and its acknowledgement that wait for their turns among terminals and an access point that
/// always have frames. `None` where not all of them send all the time, or not only up.
fn floor_ns(case: &Case) -> Option<f64> {
    if case.traffic != Traffic::Up {
        return None;
    }
    let saturation = Saturation::new(Profile::by_name(PROFILE)?, RATE, FRAME_BYTES);
    let senders = case.terminals as u32 + 1;
    let total_bps = saturation.standard_bps(senders);
    let turn_ns = 8e9 * f64::from(FRAME_BYTES) / total_bps * f64::from(senders);
    Some(nanos(case.wired_rtt) + 2.0 * turn_ns)
}

fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.sum()
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * ratio(part, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_the_wire_and_two_turns() {
        let floor_ms = |terminals| floor_ns(&Case::upload(terminals, 16)).map(|ns| ns / 1e6);
        // 1.5 times that is the simulation's bar: docs/crowd-law.generated.md.
        let bars = [1, 10].map(|terminals| floor_ms(terminals).map(|ms| (15.0 * ms).round()));
        assert_eq!(bars, [Some(263.0), Some(389.0)]);
        let down = Case {
            traffic: Traffic::Down,
            ..Case::upload(10, 16)
        };
        assert_eq!(floor_ns(&down), None);
    }
}

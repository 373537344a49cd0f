//! One source's figures, as the kernel had them and as the simulator has.

use std::ops::Range;

use serde_json::{Value, json};
use takt_sim::{Figures, Setup};

use super::delivery::Delivery;
use super::transfer::Transferred;
use crate::experiment::metrics::{Metrics, metrics};

/// Delays below this are the work of the laboratory's processor, and no percentage says anything.
const WORK_NS: u64 = 10_000;
/// Beyond as many standard deviations is one of 16,000 figures.
const DEVIATIONS: f64 = 4.0;

/// What came out of the cable.
pub struct Seen<'a> {
    pub deliveries: &'a [Delivery],
    pub transferred: &'a Transferred,
    /// Without a scheduler.
    pub path_ns: u64,
    pub window_ns: Range<u64>,
    /// Both are samples then, and not the same packets at the same moments.
    pub has_free_phase: bool,
}

impl Seen<'_> {
    /// Both, for the source with this index.
    pub fn beside(&self, setup: &Setup, source: u32, simulated: &Figures) -> Metrics {
        let of_source = |flow: u32| setup.sources[flow as usize] == source;
        let in_window = |at_ns: u64| self.window_ns.contains(&at_ns);
        let own = || self.deliveries.iter().filter(|one| of_source(one.flow));
        let arrived = || own().filter(|one| one.arrived_ns.is_some_and(in_window));
        let datagrams: u64 = arrived().map(|one| u64::from(one.bytes)).sum();
        let bytes = datagrams + self.transferred.bytes(source);
        let length_s = (self.window_ns.end - self.window_ns.start) as f64 / 1e9;
        let lab_bps = bytes as f64 * 8.0 / length_s;
        let sent = own().filter(|one| in_window(one.sent_ns));
        let (mut all, mut lost) = (0u64, 0u64);
        for one in sent {
            all += 1;
            lost += u64::from(one.arrived_ns.is_none());
        }
        let mut row = metrics([
            ("lab_bps", json!(lab_bps)),
            ("sim_bps", json!(simulated.delivered_bps)),
            (
                "rate_difference_percent",
                percent(lab_bps, simulated.delivered_bps),
            ),
        ]);
        if all == 0 {
            return row;
        }
        let part = |lost: u64, all: u64| lost as f64 * 100.0 / all.max(1) as f64;
        row.extend(metrics([
            ("lab_lost_percent", json!(part(lost, all))),
            (
                "sim_lost_percent",
                json!(part(simulated.lost.packets(), simulated.offered_packets)),
            ),
        ]));
        let mut delays_ns: Vec<u64> = arrived()
            .filter_map(Delivery::delay_ns)
            .map(|ns| ns.saturating_sub(self.path_ns))
            .collect();
        delays_ns.sort_unstable();
        let Some(delay) = simulated.delay.filter(|_| !delays_ns.is_empty()) else {
            return row;
        };
        for (name, part, sim_ns) in [("p50", 0.5, delay.p50_ns), ("p99", 0.99, delay.p99_ns)] {
            let at = (part * (delays_ns.len() - 1) as f64).round() as usize;
            let lab_ns = delays_ns[at];
            let difference_ns = lab_ns as i64 - sim_ns as i64;
            let difference_percent = match lab_ns.max(sim_ns) {
                0..WORK_NS => Value::Null,
                _ => percent(lab_ns as f64, sim_ns as f64),
            };
            row.extend([
                (format!("lab_delay_{name}_ns"), json!(lab_ns)),
                (format!("sim_delay_{name}_ns"), json!(sim_ns)),
                (format!("delay_{name}_difference_ns"), json!(difference_ns)),
                (
                    format!("delay_{name}_difference_percent"),
                    difference_percent,
                ),
            ]);
            if self.has_free_phase {
                let (from_ns, to_ns) = interval(&delays_ns, part);
                row.extend([
                    (format!("lab_delay_{name}_from_ns"), json!(from_ns)),
                    (format!("lab_delay_{name}_to_ns"), json!(to_ns)),
                ]);
            }
        }
        row
    }
}

/// Where a quantile of another sample of the same distribution lies, as large as this one, which is in
/// order.
///
/// How many of n samples are below the distribution's own quantile p is binomial, with a deviation
/// of √(n p (1 − p)) (H. A. David, Order Statistics, 2.5); between two samples it is √2 times
/// that. A probe's packets count as independent: on average five frames leave between two of them.
fn interval(sorted_ns: &[u64], part: f64) -> (u64, u64) {
    let last = (sorted_ns.len() - 1) as f64;
    let deviation = (2.0 * last * part * (1.0 - part)).sqrt();
    let at = |rank: f64| sorted_ns[rank.round().clamp(0.0, last) as usize];
    let reach = DEVIATIONS * deviation;
    (at(part * last - reach), at(part * last + reach))
}

/// How far the laboratory's is from the simulator's.
fn percent(lab: f64, sim: f64) -> Value {
    json!((sim > 0.0).then(|| (lab / sim - 1.0) * 100.0))
}

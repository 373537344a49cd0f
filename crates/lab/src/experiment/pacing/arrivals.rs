//! From the arrivals of each class to the figures of a row.

use serde_json::json;
use takt_report::{Spacing, achieved_bps, gap_errors_ns, rate_error_ppm};

use crate::experiment::metrics::{Metrics, metrics};
use crate::experiment::traffic::{Flow, Window};

/// One class, as its receiver saw it.
#[derive(Debug)]
pub struct Observed {
    target_bps: u64,
    achieved_bps: f64,
    rate_error_ppm: f64,
    gap_errors_ns: Vec<u64>,
    packets: Packets,
}

/// Over the whole run, warm-up and drain included: every packet that was sent must arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packets {
    sent: u64,
    received: u64,
    reordered: u64,
}

impl Observed {
    /// `None` if fewer than two packets arrived within the window.
    pub fn new(flow: &Flow, window: &Window, target_bps: u64, frame_bytes: u32) -> Option<Self> {
        let frame_bits = u64::from(frame_bytes) * 8;
        let arrivals_ns = flow.arrivals_within(window);
        let (first_ns, last_ns) = (arrivals_ns.first()?, arrivals_ns.last()?);
        let bits_after_first = frame_bits * (arrivals_ns.len() as u64 - 1);
        let achieved_bps = achieved_bps(*first_ns, *last_ns, bits_after_first)?;
        let target_gap_ns = frame_bits as f64 * 1e9 / target_bps as f64;
        Some(Self {
            target_bps,
            achieved_bps,
            rate_error_ppm: rate_error_ppm(achieved_bps, target_bps as f64)?,
            gap_errors_ns: gap_errors_ns(arrivals_ns, target_gap_ns),
            packets: Packets::of(std::slice::from_ref(flow)),
        })
    }

    pub fn achieved_bps(&self) -> f64 {
        self.achieved_bps
    }

    /// The absolute error of its rate.
    pub fn rate_error_percent(&self) -> f64 {
        self.rate_error_ppm.abs() / 1e4
    }

    pub fn metrics(&self) -> Metrics {
        let mut row = metrics([
            ("target_bps", json!(self.target_bps)),
            ("achieved_bps", json!(self.achieved_bps)),
            ("rate_error_ppm", json!(self.rate_error_ppm)),
        ]);
        row.extend(spacing(self.gap_errors_ns.clone()));
        row.extend(self.packets.metrics());
        row
    }
}

/// All classes of a case in one row: rates are sums, `rate_error_ppm` is that of the class
/// furthest off, and the spacing is of every gap of every class.
pub fn together(classes: &[Observed]) -> Metrics {
    let mut errors_ppm: Vec<f64> = classes.iter().map(|class| class.rate_error_ppm).collect();
    errors_ppm.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let packets = classes
        .iter()
        .fold(Packets::default(), |sum, class| sum.plus(&class.packets));

    let mut row = metrics([
        ("classes", json!(classes.len())),
        (
            "target_bps",
            json!(classes.iter().map(|class| class.target_bps).sum::<u64>()),
        ),
        (
            "achieved_bps",
            json!(classes.iter().map(|class| class.achieved_bps).sum::<f64>()),
        ),
        ("rate_error_ppm", json!(errors_ppm.last())),
        (
            "rate_error_median_ppm",
            json!(errors_ppm.get(errors_ppm.len() / 2)),
        ),
    ]);
    row.extend(spacing(
        classes
            .iter()
            .flat_map(|class| class.gap_errors_ns.iter().copied())
            .collect(),
    ));
    row.extend(packets.metrics());
    row
}

impl Packets {
    pub fn of(flows: &[Flow]) -> Self {
        Self {
            sent: flows.iter().map(|flow| flow.sent).sum(),
            received: flows
                .iter()
                .map(|flow| flow.record.arrivals_ns.len() as u64)
                .sum(),
            reordered: flows.iter().map(|flow| flow.record.reordered).sum(),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            reordered: self.reordered + other.reordered,
        }
    }

    pub fn metrics(&self) -> Metrics {
        metrics([
            ("packets_sent", json!(self.sent)),
            ("packets_received", json!(self.received)),
            (
                "packets_lost",
                json!(self.sent.saturating_sub(self.received)),
            ),
            ("packets_reordered", json!(self.reordered)),
        ])
    }
}

fn spacing(gap_errors_ns: Vec<u64>) -> Metrics {
    Spacing::from_errors(gap_errors_ns)
        .map(|spacing| spacing.metrics().into_iter().collect())
        .unwrap_or_default()
}

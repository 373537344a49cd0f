//! From runs to the figures of a row.

use serde_json::json;

use super::transfer::{Effort, Transfer};
use crate::experiment::metrics::{Metrics, metrics};

/// A full frame: 1,500 bytes and the Ethernet header.
pub const FRAME_BYTES: u64 = 1_514;

/// The mean time of the foreground's transfers.
pub fn mean_ns(transfers: &[Transfer]) -> f64 {
    let total_ns: u128 = transfers.iter().map(|one| one.foreground.as_nanos()).sum();
    total_ns as f64 / transfers.len() as f64
}

/// `alone_ns`: a transfer's time without background.
pub fn of_transfers(
    transfers: &[Transfer],
    foreground_bytes: u64,
    rate_bps: u64,
    alone_ns: f64,
) -> Metrics {
    let mean_ns = mean_ns(transfers);
    let times_ns: Vec<u64> = transfers
        .iter()
        .map(|one| one.foreground.as_nanos() as u64)
        .collect();
    let variance = times_ns
        .iter()
        .map(|ns| (*ns as f64 - mean_ns).powi(2))
        .sum::<f64>()
        / times_ns.len() as f64;
    let frame_ns = (FRAME_BYTES * 8) as f64 * 1e9 / rate_bps as f64;
    let mut row = metrics([
        ("transfer_mean_ns", json!(mean_ns.round() as u64)),
        (
            "transfer_deviation_ns",
            json!(variance.sqrt().round() as u64),
        ),
        ("transfer_max_ns", json!(times_ns.iter().max())),
        (
            "over_alone_percent",
            json!((mean_ns / alone_ns - 1.0) * 100.0),
        ),
        ("over_alone_frames", json!((mean_ns - alone_ns) / frame_ns)),
        ("transfers_ns", json!(times_ns)),
        ("runs", json!(transfers.len())),
        ("foreground_bytes", json!(foreground_bytes)),
        ("target_bps", json!(rate_bps)),
    ]);
    let background_ns: Vec<f64> = transfers
        .iter()
        .filter_map(|one| Some(one.background?.as_nanos() as f64))
        .collect();
    if !background_ns.is_empty() {
        let mean_ns = background_ns.iter().sum::<f64>() / background_ns.len() as f64;
        row.insert(
            "background_mean_ns".to_owned(),
            json!(mean_ns.round() as u64),
        );
    }
    row.extend(of_effort("", transfers.iter().map(|one| one.both)));
    row.extend(of_effort("all_", transfers.iter().map(|one| one.all)));
    row
}

/// A KB is a thousand bytes that arrived in the server's program.
pub fn of_effort(prefix: &str, efforts: impl IntoIterator<Item = Effort>) -> Metrics {
    let whole = efforts
        .into_iter()
        .fold(Effort::default(), |sum, one| Effort {
            work: sum.work + one.work,
            bytes: sum.bytes + one.bytes,
        });
    let per_kb = |count: u64| count as f64 * 1_000.0 / whole.bytes as f64;
    Metrics::from([
        (
            format!("{prefix}instructions_per_kb"),
            json!(per_kb(whole.work.instructions).round()),
        ),
        (
            format!("{prefix}switches_per_kb"),
            json!(per_kb(whole.work.switches)),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::experiment::background::work::Work;

    #[test]
    fn extra_time_is_counted_in_frames() {
        let effort = Effort {
            work: Work {
                instructions: 3_000_000,
                switches: 150,
                ..Work::default()
            },
            bytes: 100_000,
        };
        let transfer = |ms| Transfer {
            foreground: Duration::from_millis(ms),
            background: Some(Duration::from_secs(1)),
            both: effort,
            all: effort,
        };
        // A frame of 1,514 bytes takes 10 ms at this rate.
        let figures = of_transfers(&[transfer(100), transfer(120)], 50_000, 1_211_200, 100e6);
        assert_eq!(figures["transfer_mean_ns"], json!(110_000_000));
        assert_eq!(figures["transfer_deviation_ns"], json!(10_000_000));
        assert_eq!(figures["over_alone_frames"], json!(1.0));
        assert_eq!(figures["instructions_per_kb"], json!(30_000.0));
        assert_eq!(figures["switches_per_kb"], json!(1.5));
        assert_eq!(figures["background_mean_ns"], json!(1_000_000_000));
    }
}

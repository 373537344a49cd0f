//! How soon a station's part of the frames follows its signal.
//!
//! Its SNR steps down and up again, many times. Its part of the access point's frames in each
//! tenth of a second after a step, over all such steps, moves from one level to the other. The
//! figures are the times to half way and to nine tenths.

use serde_json::json;

use super::cell::{SHARE_INTERVAL, Seen};
use super::environment::STAY;
use crate::experiment::metrics::{Metrics, metrics};

pub fn figures(seen: &Seen) -> Metrics {
    let interval_ns = SHARE_INTERVAL.as_nanos() as u64;
    let bins = (2 * STAY.as_nanos() as u64 / interval_ns) as usize;
    let at = |ns: u64| (ns.saturating_sub(seen.began_ns) / interval_ns) as usize;
    let (from, to) = (at(seen.window.begin_ns), at(seen.window.end_ns));
    let mut mine = vec![0; bins];
    let mut all = vec![0; bins];
    for (index, station) in seen.air.stations.iter().enumerate() {
        let frames = station.down.frames_per_interval.iter().enumerate();
        for (bin, frames) in frames.filter(|(bin, _)| (from..to).contains(bin)) {
            all[bin % bins] += frames;
            if index == 0 {
                mine[bin % bins] += frames;
            }
        }
    }
    let share: Vec<f64> = mine
        .iter()
        .zip(&all)
        .map(|(mine, all)| 100.0 * *mine as f64 / (*all).max(1) as f64)
        .collect();
    let (near, far) = share.split_at(bins / 2);
    let (near_level, far_level) = (level(near), level(far));
    let lag = |after: &[f64], from: f64, to: f64, part: f64| {
        lag(after, from, to, part).map(|bins| bins as u64 * interval_ns)
    };
    metrics([
        ("near_share_percent", json!(near_level)),
        ("far_share_percent", json!(far_level)),
        ("fall_half_ns", json!(lag(far, near_level, far_level, 0.5))),
        ("fall_most_ns", json!(lag(far, near_level, far_level, 0.9))),
        ("rise_half_ns", json!(lag(near, far_level, near_level, 0.5))),
        ("rise_most_ns", json!(lag(near, far_level, near_level, 0.9))),
        ("steps", json!((to - from) / bins * 2)),
        ("share_of_frames_percent", json!(share)),
    ])
}

/// The settled level: the mean of the second half.
fn level(share: &[f64]) -> f64 {
    let settled = &share[share.len() / 2..];
    settled.iter().sum::<f64>() / settled.len().max(1) as f64
}

/// The number of intervals until the first that has moved this part of the way.
fn lag(after: &[f64], from: f64, to: f64, part: f64) -> Option<usize> {
    after
        .iter()
        .position(|share| (share - from) / (to - from) >= part)
        // A change within an interval counts at its end.
        .map(|bin| bin + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_is_told_by_the_end_of_the_interval() {
        let falling = [12.0, 9.0, 5.0, 2.5, 2.0, 2.0];
        assert_eq!(lag(&falling, 12.0, 2.0, 0.5), Some(3));
        assert_eq!(lag(&falling, 12.0, 2.0, 0.9), Some(4));
        assert_eq!(lag(&falling, 12.0, 0.0, 0.9), None);
        assert_eq!(level(&falling), (2.5 + 2.0 + 2.0) / 3.0);
    }
}

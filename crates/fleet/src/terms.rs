//! The terms of a push as they are written: times, and shares of the hosts.

use std::time::Duration;

use crate::revision::{HOLD_MAX_MS, HOLD_MIN_MS};

fn within(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let end = text.find(|next: char| !next.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit_ms = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let number: Option<u64> = number.parse().ok();
    let time_ms = number
        .zip(unit_ms)
        .and_then(|(n, unit)| n.checked_mul(unit));
    let found = time_ms.map(Duration::from_millis);
    found
        .filter(|time| (least..=most).contains(time))
        .ok_or_else(|| {
            let [least_s, most_s] = [least, most].map(|bound| bound.as_secs());
            format!("a time from {least_s}s to {most_s}s, such as 10s, 2m or 1h")
        })
}

/// A second to a day.
pub fn duration(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_secs(1), Duration::from_secs(86_400))
}

/// Between two reports.
pub fn period(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_secs(5), Duration::from_secs(3_600))
}

/// As long as a trial may be.
pub fn hold(text: &str) -> Result<Duration, String> {
    let bounds = [HOLD_MIN_MS, HOLD_MAX_MS].map(Duration::from_millis);
    within(text, bounds[0], bounds[1])
}

/// Millionths.
fn ppm(text: &str) -> Option<u32> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0)
        .contains(&percent)
        .then(|| (percent * 10_000.0).round() as u32)
}

/// Of the hosts, in millionths: above 0%.
pub fn share(text: &str) -> Result<u32, String> {
    let found = ppm(text).filter(|ppm| *ppm > 0);
    found.ok_or_else(|| "a share is above 0% and at most 100%, such as 5%".to_owned())
}

/// Of a wave, in millionths: below 100%.
pub fn tolerated(text: &str) -> Result<u32, String> {
    let found = ppm(text).filter(|ppm| *ppm < 1_000_000);
    found.ok_or_else(|| "a share from 0% to below 100%, such as 1%".to_owned())
}

//! Durations.

use super::decimal::Decimal;
use super::{Fault, closest};
use crate::Code;

const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

/// Nanoseconds; fractions of one are rounded to the nearest.
pub(crate) fn parse_ns(text: &str) -> Result<u64, Fault> {
    let Some((number, unit)) = Decimal::split(text) else {
        return Err(Fault::new(
            Code::BadUnit,
            format!("`{text}` is not a duration"),
            "a duration is a number and one of ns, us, ms and s, such as \"10ms\"",
        ));
    };
    if let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) {
        return Ok(number.times(*factor));
    }
    let number = &text[..text.len() - unit.len()];
    let meant = match unit.trim().to_lowercase().as_str() {
        "" => Some("ms"),
        "µs" | "μs" | "usec" | "usecs" => Some("us"),
        "msec" | "msecs" => Some("ms"),
        "sec" | "secs" => Some("s"),
        other => closest(other, UNITS.iter().map(|(name, _)| *name)),
    };
    let message = match unit.is_empty() {
        true => format!("the duration `{text}` has no unit"),
        false => format!("`{unit}` is not a unit of time"),
    };
    let help = match meant {
        Some(meant) => format!("write \"{number}{meant}\"; units are ns, us, ms and s"),
        None => "units are ns, us, ms and s".to_owned(),
    };
    Err(Fault::new(Code::BadUnit, message, help))
}

//! Durations.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::Fault;
use super::decimal::{DECIMAL, Decimal};
use super::meant::{self, TimeUnit};
use crate::Code;

pub(super) const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

pub(crate) fn schema() -> Value {
    let units: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
    json!({"type": "string", "pattern": format!("^{DECIMAL}({})$", units.join("|"))})
}

/// Nanoseconds; fractions of one are rounded to the nearest.
pub(crate) fn parse_ns(text: &str) -> Result<u64, Fault> {
    let Some((number, unit)) = Decimal::split(text) else {
        return Err(Fault::new(
            Code::BadUnit,
            format!("`{text}` is not a duration"),
            "a duration is a number and one of ns, us, ms and s, such as \"10ms\"",
        ));
    };
    let spelled = &text[..text.len() - unit.len()];
    Ok(number.times(unit_of(text, spelled, unit)?))
}

/// The nanoseconds of the unit of `text`, which has `number` before it.
pub(super) fn unit_of(text: &str, number: &str, unit: &str) -> Result<u64, Fault> {
    if let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) {
        return Ok(*factor);
    }
    let message = if unit.trim().is_empty() {
        format!("the duration `{text}` has no unit")
    } else {
        format!("`{unit}` is not a unit of time")
    };
    let help = instead(number, unit).map_or(KNOWN.to_owned(), |help| format!("{help}; {KNOWN}"));
    Err(Fault::new(Code::BadUnit, message, help))
}

const KNOWN: &str = "units are ns, us, ms and s";

/// What to write, if it is clear what the unit means.
fn instead(number: &str, unit: &str) -> Option<String> {
    if unit.trim().is_empty() {
        return Some(format!("write \"{number}ms\" if this is in milliseconds"));
    }
    match meant::time(unit)? {
        TimeUnit::MinutesOrMilliseconds => Some("`m` may be minutes or milliseconds".to_owned()),
        TimeUnit::Ns(ns) => match UNITS.iter().find(|(_, factor)| *factor == ns) {
            Some((name, _)) => Some(format!("write \"{number}{name}\"")),
            None => {
                // A fraction has no shorter spelling in a smaller unit.
                let (decimal, _) = Decimal::split(number).filter(|(_, rest)| rest.is_empty())?;
                let ns = decimal.times(ns);
                (ns < u64::MAX).then(|| format!("write \"{}\"", format_duration(ns)))
            }
        },
    }
}

/// A duration in nanoseconds, spelled as in a policy; otherwise the error and its fix.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    parse_ns(text).map_err(|fault| format!("{}; {}", fault.message, fault.help))
}

/// The duration of `key`, within `range_ns`.
pub(crate) fn parse_within(
    key: &str,
    text: &str,
    range_ns: RangeInclusive<u64>,
) -> Result<u64, Fault> {
    let duration_ns = parse_ns(text)?;
    if range_ns.contains(&duration_ns) {
        Ok(duration_ns)
    } else {
        Err(out_of_range(key, text, &range_ns))
    }
}

pub(super) fn out_of_range(key: &str, text: &str, range_ns: &RangeInclusive<u64>) -> Fault {
    let (min, max) = (
        format_duration(*range_ns.start()),
        format_duration(*range_ns.end()),
    );
    Fault::new(
        Code::OutOfRange,
        format!("{key} `{text}` is out of range"),
        format!("{key} goes from \"{min}\" to \"{max}\""),
    )
}

/// In the policy's spelling, without loss: `2500000` is `2.5ms`.
pub fn format_duration(duration_ns: u64) -> String {
    // Up to three decimals are easy to read; with more the next smaller unit is used.
    let is_apt =
        |factor: u64| duration_ns >= factor && duration_ns.is_multiple_of(factor.div_ceil(1000));
    let (unit, factor) = UNITS
        .iter()
        .rev()
        .find(|(_, factor)| is_apt(*factor))
        .unwrap_or(&UNITS[0]);
    let (whole, part) = (duration_ns / factor, duration_ns % factor);
    if part == 0 {
        return format!("{whole}{unit}");
    }
    let thousandths = part / (factor / 1000);
    let decimals = format!("{thousandths:03}");
    format!("{whole}.{}{unit}", decimals.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_as_what_it_was() {
        let shown = [
            (0, "0ns"),
            (999, "999ns"),
            (1_500, "1.5us"),
            (500_000, "500us"),
            (2_500_000, "2.5ms"),
            (2_500_001, "2500.001us"),
            (1_001_000_000, "1.001s"),
            (u64::MAX, "18446744073709551.615us"),
        ];
        for (duration_ns, text) in shown {
            assert_eq!(format_duration(duration_ns), text);
            assert_eq!(parse_ns(text), Ok(duration_ns));
        }
    }
}

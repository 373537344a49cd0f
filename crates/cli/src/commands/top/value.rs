//! Values of a table: how they are shown, and their order.

use std::{cmp::Ordering, time::Duration};

use serde_json::{Value as Json, json};

use crate::print::short;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Unknown, or not measured yet.
    Absent,
    Text(String),
    Count(u64),
    /// Per second.
    Rate(f64),
    /// Of one.
    Share(f64),
    TimeNs(u64),
}

impl Value {
    pub fn or_absent<T>(value: Option<T>, of: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Absent, of)
    }

    /// At most seven characters, unless it is a text.
    pub fn text(&self) -> String {
        match self {
            Self::Absent => "-".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Count(count) => short(*count),
            Self::Rate(rate) if *rate > 0.0 && *rate < 9.95 => format!("{rate:.1}"),
            Self::Rate(rate) => short(rate.round() as u64),
            Self::Share(share) => format!("{:.1}%", share * 100.0),
            Self::TimeNs(time_ns) => time(*time_ns),
        }
    }

    /// Times are nanoseconds, shares are of one.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Absent => Json::Null,
            Self::Text(text) => json!(text),
            Self::Count(count) => json!(count),
            Self::Rate(number) | Self::Share(number) => json!(number),
            Self::TimeNs(time_ns) => json!(time_ns),
        }
    }

    pub fn is_absent(&self) -> bool {
        *self == Self::Absent
    }

    /// Of two values of one column.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (one, other) => one.number().total_cmp(&other.number()),
        }
    }

    fn number(&self) -> f64 {
        match self {
            Self::Absent | Self::Text(_) => 0.0,
            Self::Count(number) | Self::TimeNs(number) => *number as f64,
            Self::Rate(number) | Self::Share(number) => *number,
        }
    }
}

/// Three digits and a unit: `84.2us`.
fn time(time_ns: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let Some((scale, unit)) = UNITS.into_iter().find(|(scale, _)| time_ns >= *scale) else {
        return format!("{time_ns}ns");
    };
    let scaled = Duration::from_nanos(time_ns).as_secs_f64() * 1e9 / scale as f64;
    let decimals = match scaled {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        for (value, text) in [
            (Value::Absent, "-"),
            (Value::Count(84_213_456), "84.2M"),
            (Value::Rate(0.0), "0"),
            (Value::Rate(0.25), "0.2"),
            (Value::Rate(9.94), "9.9"),
            (Value::Rate(9.96), "10"),
            (Value::Rate(1e7), "10.0M"),
            (Value::Share(0.256), "25.6%"),
            (Value::TimeNs(999), "999ns"),
            (Value::TimeNs(12_345), "12.3us"),
            (Value::TimeNs(2_000_000), "2.00ms"),
            (Value::TimeNs(90_000_000_000), "90.0s"),
        ] {
            assert_eq!(value.text(), text, "{value:?}");
        }
    }

    #[test]
    fn numbers_are_ordered_by_size_and_texts_by_letter() {
        let smaller = [
            (Value::Count(9), Value::Count(10)),
            (Value::Rate(0.5), Value::Rate(1e9)),
            (Value::Text("a".to_owned()), Value::Text("b".to_owned())),
        ];
        for (one, other) in smaller {
            assert_eq!(one.order(&other), Ordering::Less, "{one:?}");
        }
    }
}

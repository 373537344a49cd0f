//! Times that may be a fraction of nanoseconds: 64 frames at 48 kHz take 4/3 ms, and a million of
//! them a million times that.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZero;
use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};

use super::decimal::DECIMAL;
use super::duration::{UNITS, format_duration, parse_ns, unit_of};
use super::{Fault, duration};
use crate::Code;

/// The largest denominator of a fraction of nanoseconds (TAKT_EXACT_DEN_MAX in algo/exact.h).
pub const DENOMINATOR_MAX: u32 = 65_535;

/// A time of `numerator / denominator` nanoseconds, in lowest terms. Multiples of it are exact, so
/// edges at multiples do not drift; an edge itself is on the next whole nanosecond.
///
/// Spelled as in a policy: `"10ms"`, or a fraction, `"64/48000s"`. JSON has whole nanoseconds as a
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExactTime {
    numerator: u64,
    denominator: NonZero<u32>,
}

impl ExactTime {
    /// `numerator / denominator` nanoseconds. `None` if the denominator is 0 or, in lowest terms,
    /// above [`DENOMINATOR_MAX`], or if the time is beyond 64 bits.
    pub fn new(numerator: u128, denominator: u128) -> Option<ExactTime> {
        let common = gcd(numerator, denominator);
        let denominator = u32::try_from(denominator.checked_div(common)?).ok()?;
        let numerator = u64::try_from(numerator / common).ok()?;
        let denominator = NonZero::new(denominator)?;
        (denominator.get() <= DENOMINATOR_MAX).then_some(ExactTime {
            numerator,
            denominator,
        })
    }

    /// In parts of [`ExactTime::denominator`] nanoseconds.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// From 1 to [`DENOMINATOR_MAX`].
    pub fn denominator(self) -> u32 {
        self.denominator.get()
    }

    /// Whether it is no whole number of nanoseconds.
    pub fn is_fraction(self) -> bool {
        self.denominator() > 1
    }

    /// The nearest whole number of nanoseconds.
    pub fn rounded_ns(self) -> u64 {
        let denominator = u64::from(self.denominator());
        let (whole, part) = (self.numerator / denominator, self.numerator % denominator);
        whole + u64::from(2 * part >= denominator)
    }

    /// Without the fraction.
    pub fn whole_ns(self) -> u64 {
        self.numerator / u64::from(self.denominator())
    }

    /// The multiple number `index`, or the time of 64 bits if it is beyond.
    pub fn times(self, index: u64) -> ExactTime {
        let numerator = u128::from(self.numerator) * u128::from(index);
        ExactTime::new(numerator, self.denominator().into()).unwrap_or(ExactTime::from(u64::MAX))
    }

    /// The whole nanosecond at or after multiple number `index`.
    pub fn edge_ns(self, index: u64) -> u64 {
        let numerator = u128::from(self.numerator) * u128::from(index);
        u64::try_from(numerator.div_ceil(self.denominator().into())).unwrap_or(u64::MAX)
    }

    /// How many whole multiples there are up to this time, with 0 for the first; the inverse of
    /// [`ExactTime::edge_ns`] for times of 2 ns and more.
    pub fn whole_in(self, time_ns: u64) -> u64 {
        let parts = u128::from(time_ns) * u128::from(self.denominator());
        u64::try_from(parts / u128::from(self.numerator.max(1))).unwrap_or(u64::MAX)
    }

    /// How many multiples it takes to hold this time.
    pub fn covering(self, time: impl Into<ExactTime>) -> u64 {
        let time = time.into();
        let parts = u128::from(time.numerator) * u128::from(self.denominator());
        let whole = u128::from(self.numerator.max(1)) * u128::from(time.denominator());
        u64::try_from(parts.div_ceil(whole)).unwrap_or(u64::MAX)
    }

    /// What multiple of `grid` it is, if it is one.
    pub fn in_slots(self, grid: ExactTime) -> Option<u64> {
        let parts = u128::from(self.numerator) * u128::from(grid.denominator());
        let whole = u128::from(grid.numerator) * u128::from(self.denominator());
        if whole == 0 || !parts.is_multiple_of(whole) {
            return None;
        }
        u64::try_from(parts / whole).ok()
    }

    /// The greatest time that both are multiples of.
    pub fn common_part(self, other: ExactTime) -> Option<ExactTime> {
        let (mine, others) = self.on_one_denominator(other);
        ExactTime::new(gcd(mine, others), self.common_denominator(other))
    }

    /// The least common multiple, if it is within 64 bits.
    pub fn common_multiple(self, other: ExactTime) -> Option<ExactTime> {
        let (mine, others) = self.on_one_denominator(other);
        let multiple = mine.checked_div(gcd(mine, others))?.checked_mul(others)?;
        ExactTime::new(multiple, self.common_denominator(other))
    }

    fn common_denominator(self, other: ExactTime) -> u128 {
        u128::from(self.denominator()) * u128::from(other.denominator())
    }

    fn on_one_denominator(self, other: ExactTime) -> (u128, u128) {
        (
            u128::from(self.numerator) * u128::from(other.denominator()),
            u128::from(other.numerator) * u128::from(self.denominator()),
        )
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Default for ExactTime {
    /// No time.
    fn default() -> ExactTime {
        ExactTime::from(0)
    }
}

impl From<u64> for ExactTime {
    /// Whole nanoseconds.
    fn from(time_ns: u64) -> ExactTime {
        ExactTime {
            numerator: time_ns,
            denominator: NonZero::<u32>::MIN,
        }
    }
}

impl Ord for ExactTime {
    fn cmp(&self, other: &ExactTime) -> Ordering {
        let (mine, others) = self.on_one_denominator(*other);
        mine.cmp(&others)
    }
}

impl PartialOrd for ExactTime {
    fn partial_cmp(&self, other: &ExactTime) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// In the policy's spelling, without loss; of a fraction the shortest.
impl fmt::Display for ExactTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_fraction() {
            return f.write_str(&format_duration(self.numerator));
        }
        let spelled = |&(unit, factor): &(&str, u64)| {
            let denominator = u128::from(self.denominator()) * u128::from(factor);
            let common = gcd(self.numerator.into(), denominator);
            let numerator = u128::from(self.numerator) / common;
            format!("{numerator}/{}{unit}", denominator / common)
        };
        let shortest = UNITS.iter().rev().map(spelled).min_by_key(String::len);
        f.write_str(&shortest.unwrap_or_default())
    }
}

impl Serialize for ExactTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_fraction() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.numerator)
        }
    }
}

impl<'de> Deserialize<'de> for ExactTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ExactTime, D::Error> {
        struct Spelled;

        impl de::Visitor<'_> for Spelled {
            type Value = ExactTime;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("nanoseconds, or a fraction such as \"64/48000s\"")
            }

            fn visit_u64<E>(self, time_ns: u64) -> Result<ExactTime, E> {
                Ok(time_ns.into())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ExactTime, E> {
                parse_exact(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Spelled)
    }
}

pub(crate) fn schema() -> Value {
    let units: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
    let pattern = format!(r"^({DECIMAL}|\d+/\d+)({})$", units.join("|"));
    json!({"type": "string", "pattern": pattern})
}

/// A time in the policy's spelling, fractions included; otherwise the error and its fix.
pub fn parse_exact(text: &str) -> Result<ExactTime, String> {
    parse(text).map_err(|fault| format!("{}; {}", fault.message, fault.help))
}

fn parse(text: &str) -> Result<ExactTime, Fault> {
    let Some((numerator, rest)) = text.split_once('/') else {
        return parse_ns(text).map(ExactTime::from);
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (denominator, unit) = rest.split_at(end);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(numerator) || !is_number(denominator) {
        return Err(Fault::new(
            Code::BadUnit,
            format!("`{text}` is not a duration"),
            "a fraction is two whole numbers and one of ns, us, ms and s, such as \"64/48000s\"",
        ));
    }
    let factor = unit_of(text, &format!("{numerator}/{denominator}"), unit)?;
    let times = |number: &str| number.parse::<u64>().ok();
    let exact = times(numerator)
        .zip(times(denominator))
        .filter(|(_, denominator)| *denominator > 0)
        .and_then(|(numerator, denominator)| {
            ExactTime::new(
                u128::from(numerator) * u128::from(factor),
                denominator.into(),
            )
        });
    exact.ok_or_else(|| {
        Fault::new(
            Code::OutOfRange,
            format!("`{text}` cannot be kept exactly"),
            format!(
                "in lowest terms and in nanoseconds, the denominator goes from 1 to \
                 {DENOMINATOR_MAX}"
            ),
        )
    })
}

/// The time of `key`, within `range_ns`.
pub(crate) fn parse_within(
    key: &str,
    text: &str,
    range_ns: RangeInclusive<u64>,
) -> Result<ExactTime, Fault> {
    let time = parse(text)?;
    let range = ExactTime::from(*range_ns.start())..=ExactTime::from(*range_ns.end());
    if range.contains(&time) {
        Ok(time)
    } else {
        Err(duration::out_of_range(key, text, &range_ns))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn exact(text: &str) -> ExactTime {
        parse_exact(text).expect("a time")
    }

    #[test]
    fn fractions_are_read_and_shown_without_loss() {
        for (text, numerator, denominator, shown) in [
            ("64/48000s", 4_000_000, 3, "4/3ms"),
            ("1/48000s", 62_500, 3, "1/48ms"),
            ("64/44100s", 640_000_000, 441, "16/11025s"),
            ("1001/30ms", 100_100_000, 3, "1001/30ms"),
            ("1/65535ns", 1, 65_535, "1/65535ns"),
            ("480/48000s", 10_000_000, 1, "10ms"),
            ("2.5ms", 2_500_000, 1, "2.5ms"),
        ] {
            let time = exact(text);
            assert_eq!(
                (time.numerator(), time.denominator()),
                (numerator, denominator)
            );
            assert_eq!(time.to_string(), shown);
            assert_eq!(exact(shown), time);
        }
    }

    #[test]
    fn what_is_no_fraction_is_refused_with_the_fix() {
        for (text, says) in [
            ("64/s", "such as \"64/48000s\""),
            ("/3ms", "such as \"64/48000s\""),
            ("-1/3ms", "such as \"64/48000s\""),
            ("1.5/3ms", "such as \"64/48000s\""),
            ("1/0ms", "from 1 to 65535"),
            ("1/65536ns", "from 1 to 65535"),
            ("18446744073709551615/7s", "from 1 to 65535"),
            ("99999999999999999999/7s", "from 1 to 65535"),
            ("64/48000", "write \"64/48000ms\""),
            ("64/48000sec", "write \"64/48000s\""),
            ("64/48000/2s", "`/2s` is not a unit"),
        ] {
            let told = parse_exact(text).expect_err("no time");
            assert!(told.contains(says), "{text}: {told}");
        }
    }

    #[test]
    fn json_has_whole_nanoseconds_as_a_number() {
        for (text, json) in [("10ms", "10000000"), ("64/48000s", "\"4/3ms\"")] {
            assert_eq!(
                serde_json::to_string(&exact(text)).expect("is written"),
                json
            );
            assert_eq!(
                serde_json::from_str::<ExactTime>(json).expect("is read"),
                exact(text)
            );
        }
    }

    #[test]
    fn multiples_and_parts() {
        let (audio, video) = (exact("64/48000s"), exact("1001/30ms"));
        assert_eq!(audio.common_multiple(video), Some(exact("4004/3ms")));
        assert_eq!(audio.common_part(exact("500us")), Some(exact("1/6000s")));
        assert_eq!(audio.in_slots(exact("1/48000s")), Some(64));
        assert_eq!(audio.in_slots(exact("1ms")), None);
        assert_eq!(exact("1/48000s").covering(1_000_000), 48);
        assert_eq!(exact("1/48000s").covering(1_000_001), 49);
    }

    proptest! {
        /// An edge is less than a nanosecond late, after any number of periods.
        #[test]
        fn edges_do_not_drift(
            numerator in 2u64..4_000_000_000,
            denominator in 1u64..65_536,
            index in 0u64..1 << 32,
        ) {
            prop_assume!(numerator / denominator >= 2);
            let time = ExactTime::new(numerator.into(), denominator.into()).expect("in range");
            let edge_ns = time.edge_ns(index);
            prop_assert_eq!(time.whole_in(edge_ns), index);
            let exact = u128::from(numerator) * u128::from(index);
            let late = u128::from(edge_ns) * u128::from(denominator) - exact;
            prop_assert!(late < u128::from(denominator));
        }

        #[test]
        fn all_text_is_read_or_refused(text in ".{0,24}") {
            if let Ok(time) = parse_exact(&text) {
                prop_assert_eq!(exact(&time.to_string()), time);
            }
        }
    }
}

//! Parts of a whole.

use std::ops::RangeInclusive;

use super::Fault;
use super::decimal::Decimal;
use crate::Code;

pub(crate) const WHOLE_PPM: i64 = 1_000_000;

/// Millionths within `range_ppm`; fractions of one are rounded to the nearest. `help` gives the
/// range of `key`, in the same numbers.
pub(crate) fn parse(
    key: &str,
    text: &str,
    range_ppm: RangeInclusive<i64>,
    help: &str,
) -> Result<u32, Fault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let Some((number, "")) = Decimal::split(digits) else {
        let problem = format!("`{text}` is not a part of a whole");
        return Err(Fault::new(Code::BadValue, problem, help));
    };
    let ppm = i64::try_from(number.times(WHOLE_PPM as u64)).unwrap_or(i64::MAX);
    if digits != text || !range_ppm.contains(&ppm) {
        let problem = format!("{key} = {text} is out of range");
        return Err(Fault::new(Code::OutOfRange, problem, help));
    }
    Ok(ppm as u32)
}

//! Parts of a whole.

use std::ops::RangeInclusive;

use super::Fault;
use super::decimal::Decimal;
use crate::Code;

const WHOLE_PPM: u64 = 1_000_000;

/// Millionths within `range_ppm`; fractions of one are rounded to the nearest. `help` gives the
/// range of `key`, in the same numbers.
pub(crate) fn parse(
    key: &str,
    text: &str,
    range_ppm: RangeInclusive<u64>,
    help: &str,
) -> Result<u32, Fault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let Some((number, "")) = Decimal::split(digits) else {
        let problem = format!("`{text}` is not a part of a whole");
        return Err(Fault::new(Code::BadValue, problem, help));
    };
    let ppm = number.times(WHOLE_PPM);
    if digits != text || !range_ppm.contains(&ppm) {
        let problem = format!("{key} = {text} is out of range");
        return Err(Fault::new(Code::OutOfRange, problem, help));
    }
    Ok(ppm as u32)
}

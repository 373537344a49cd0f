//! Parts of a whole.

use std::ops::RangeInclusive;

use super::Fault;
use super::decimal::Decimal;
use crate::Code;

const WHOLE_PPM: u64 = 1_000_000;

/// What may be kept free: the same numbers in millionths as in the words below.
const FREE_PPM: RangeInclusive<u64> = 10_000..=900_000;
const HELP: &str = "free is a part of every CPU's time, from 0.01 to 0.9; the default is 0.0625";

/// Millionths; what is below one is rounded to the nearest.
pub(crate) fn parse_free(text: &str) -> Result<u32, Fault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let Some((number, "")) = Decimal::split(digits) else {
        let problem = format!("`{text}` is not a part of a whole");
        return Err(Fault::new(Code::BadValue, problem, HELP));
    };
    let ppm = number.times(WHOLE_PPM);
    if digits != text || !FREE_PPM.contains(&ppm) {
        let problem = format!("free = {text} is out of range");
        return Err(Fault::new(Code::OutOfRange, problem, HELP));
    }
    Ok(ppm as u32)
}

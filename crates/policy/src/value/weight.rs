//! Weights: shares of spare capacity.

use super::Fault;
use super::decimal::Decimal;
use crate::Code;

/// 0.001 to 400000, in thousandths: the range of rates, at a weight of 1 for each Mbit/s.
pub(crate) const RANGE_MILLI: std::ops::RangeInclusive<i64> = 1..=400_000_000;

const HELP: &str = "a weight is a number from 0.001 to 400000 with at most three decimals, such as \
                    weight = 2 or weight = 1.5";

/// Times 1000.
pub(crate) fn parse(text: &str) -> Result<u64, Fault> {
    let fault = |code, problem: String| Err(Fault::new(code, problem, HELP));
    let digits = text.strip_prefix('-').unwrap_or(text);
    let Some((number, "")) = Decimal::split(digits) else {
        return fault(Code::BadValue, format!("`{text}` is not a weight"));
    };
    let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction);
    if fraction.trim_end_matches('0').len() > 3 {
        return fault(
            Code::BadValue,
            format!("the weight {text} has more than three decimals"),
        );
    }
    let milli = i64::try_from(number.times(1000)).unwrap_or(i64::MAX);
    if digits != text || !RANGE_MILLI.contains(&milli) {
        return fault(
            Code::OutOfRange,
            format!("the weight {text} is out of range"),
        );
    }
    Ok(milli as u64)
}

//! Strength of connection: decibels with at most two decimals.

use super::Fault;
use super::decimal::Decimal;
use crate::Code;

/// -20 to 60 dB, in hundredths: wider than any radio's range.
pub(crate) const RANGE_CENTIDB: std::ops::RangeInclusive<i64> = -2_000..=6_000;

const HELP: &str = "a strength is a number of dB from -20 to 60 with at most two decimals, such as \
                    6 or 7.5";

/// A strength of connection in hundredths of a dB, spelled as in a policy; otherwise the error and
/// its fix.
pub fn parse_decibel(text: &str) -> Result<i32, String> {
    parse(text).map_err(|fault| format!("{}; {}", fault.message, fault.help))
}

/// Hundredths of a dB.
pub(crate) fn parse(text: &str) -> Result<i32, Fault> {
    let fault = |code, problem: String| Err(Fault::new(code, problem, HELP));
    let digits = text.strip_prefix('-').unwrap_or(text);
    let Some((number, "")) = Decimal::split(digits) else {
        return fault(Code::BadValue, format!("`{text}` is not a number of dB"));
    };
    let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction);
    if fraction.trim_end_matches('0').len() > 2 {
        return fault(
            Code::BadValue,
            format!("{text} dB has more than two decimals"),
        );
    }
    let size = i64::try_from(number.times(100)).unwrap_or(i64::MAX);
    let centidb = if digits == text { size } else { -size };
    if !RANGE_CENTIDB.contains(&centidb) {
        return fault(Code::OutOfRange, format!("{text} dB is out of range"));
    }
    Ok(centidb as i32)
}

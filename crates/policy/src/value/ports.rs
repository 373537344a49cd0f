//! Port sets.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::{Fault, unsigned};
use crate::Code;

pub(crate) fn schema() -> Value {
    super::text_or_integer(r"^[\da-fA-FxX\s,-]+$", u16::MAX.into())
}

/// `80`, `5004-5100` or a list of both; the result is sorted and merged.
pub(crate) fn parse(text: &str) -> Result<Vec<RangeInclusive<u16>>, Fault> {
    let ranges: Result<Vec<_>, _> = text
        .split(',')
        .map(|part| parse_range(part.trim()))
        .collect();
    ranges.map(merge)
}

fn parse_range(text: &str) -> Result<RangeInclusive<u16>, Fault> {
    let Some((first, last)) = text.split_once('-') else {
        let port = parse_port(text)?;
        return Ok(port..=port);
    };
    if first.is_empty() || last.is_empty() {
        return Err(not_a_port(text));
    }
    let (first, last) = (
        parse_port(first.trim_end())?,
        parse_port(last.trim_start())?,
    );
    if first > last {
        return Err(Fault::new(
            Code::NeverMatches,
            format!("the range `{text}` can never match: it ends before it starts"),
            format!("write \"{last}-{first}\""),
        ));
    }
    Ok(first..=last)
}

fn parse_port(text: &str) -> Result<u16, Fault> {
    match unsigned(text).map(u16::try_from) {
        Some(Ok(port)) => Ok(port),
        Some(Err(_)) => Err(Fault::new(
            Code::OutOfRange,
            format!("there is no port {text}"),
            "ports go from 0 to 65535",
        )),
        None if text.is_empty() => Err(Fault::new(
            Code::BadPort,
            "a port is missing here",
            "write a port, a range or a list: 80, \"5004-5100\", \"80,443,8000-8100\"",
        )),
        None => Err(not_a_port(text)),
    }
}

fn not_a_port(text: &str) -> Fault {
    Fault::new(
        Code::BadPort,
        format!("`{text}` is not a port"),
        "ports are numbers, service names are not resolved; write \"80\", \"5004-5100\" or \
         \"80,443,8000-8100\"",
    )
}

/// Sorts, and merges ranges that overlap or touch.
fn merge(mut ranges: Vec<RangeInclusive<u16>>) -> Vec<RangeInclusive<u16>> {
    ranges.sort_unstable_by_key(|range| *range.start());
    let mut merged: Vec<RangeInclusive<u16>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if u32::from(*range.start()) <= u32::from(*last.end()) + 1 => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            _ => merged.push(range),
        }
    }
    merged
}

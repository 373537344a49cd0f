//! Priorities.

use serde_json::Value;

use super::Fault;
use crate::{Code, PRIORITY_BACKGROUND};

pub(crate) fn schema() -> Value {
    super::text_or_integer("^(background|[0-6])$", 6)
}

pub(crate) fn parse(text: &str) -> Result<u8, Fault> {
    let help = "priority goes from 0 (most important) to 6, or is \"background\"";
    match text {
        "background" => Ok(PRIORITY_BACKGROUND),
        "7" => Err(Fault::new(
            Code::OutOfRange,
            "priority 7 goes by its name",
            "write priority = \"background\"",
        )),
        _ => match text.parse::<i64>() {
            Ok(number @ 0..=6) if text.len() == 1 => Ok(number as u8),
            Ok(number @ (i64::MIN..0 | 7..)) => Err(Fault::new(
                Code::OutOfRange,
                format!("the priority {number} is out of range"),
                help,
            )),
            _ => Err(Fault::new(
                Code::BadValue,
                format!("`{text}` is not a priority"),
                help,
            )),
        },
    }
}

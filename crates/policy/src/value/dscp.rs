//! Differentiated services code points.

use serde_json::Value;

use super::{Fault, UNSIGNED, closest, unsigned};
use crate::Code;

/// The code points with a name of their own; class selectors and assured forwarding are computed.
pub(super) const NAMES: &[(&str, u8)] = &[
    ("default", 0),
    ("be", 0),
    ("df", 0),
    ("le", 1),
    ("va", 44),
    ("ef", 46),
];

const HELP: &str =
    "dscp takes 0 to 63, or one of be (default), le, va, ef, cs0 to cs7 and af11 to af43";

pub(crate) fn schema() -> Value {
    let names = super::any_case(NAMES.iter().map(|(name, _)| *name));
    let computed = "[cC][sS][0-7]|[aA][fF][1-4][1-3]";
    super::text_or_integer(&format!("^({names}|{computed}|{UNSIGNED})$"), 63)
}

pub(crate) fn parse(text: &str) -> Result<u8, Fault> {
    let lower = text.to_ascii_lowercase();
    if let Some((_, value)) = NAMES.iter().find(|(name, _)| *name == lower) {
        return Ok(*value);
    }
    match *lower.as_bytes() {
        // RFC 2474: the class selector in the upper three bits.
        [b'c', b's', class @ b'0'..=b'7'] => return Ok((class - b'0') << 3),
        // RFC 2597: class in the upper three bits, drop precedence in the two below.
        [b'a', b'f', class @ b'1'..=b'4', drop @ b'1'..=b'3'] => {
            return Ok((class - b'0') << 3 | (drop - b'0') << 1);
        }
        _ => {}
    }
    match unsigned(text) {
        Some(value @ 0..=63) => Ok(value as u8),
        Some(value) => Err(Fault::new(
            Code::OutOfRange,
            format!("{value} is not a DSCP: it has six bits"),
            of_tos_byte(value).unwrap_or_else(|| HELP.to_owned()),
        )),
        None => Err(Fault::new(
            Code::BadValue,
            format!("`{text}` is not a DSCP"),
            match closest(text, NAMES.iter().map(|(name, _)| *name)) {
                Some(name) => format!("did you mean \"{name}\"? {HELP}"),
                None => HELP.to_owned(),
            },
        )),
    }
}

/// tcpdump and ping show the whole traffic class byte, of which the DSCP is the upper six bits.
fn of_tos_byte(value: u64) -> Option<String> {
    (value <= 255 && value.is_multiple_of(4)).then(|| {
        format!(
            "if {value} is the whole TOS byte, its DSCP is {}; {HELP}",
            value / 4
        )
    })
}

//! Firewall marks.

use serde_json::Value;

use super::{Fault, UNSIGNED, unsigned};
use crate::{Code, Mark};

pub(crate) fn schema() -> Value {
    super::text_or_integer(&format!("^{UNSIGNED}(/{UNSIGNED})?$"), u32::MAX.into())
}

/// `0x10`, or `0x10/0xff` to compare some of the bits only.
pub(crate) fn parse(text: &str) -> Result<Mark, Fault> {
    let bits = |part: &str| unsigned(part).and_then(|number| u32::try_from(number).ok());
    let (value, mask) = text.split_once('/').unwrap_or((text, "0xffffffff"));
    let (Some(value), Some(mask)) = (bits(value), bits(mask)) else {
        return Err(Fault::new(
            Code::BadValue,
            format!("`{text}` is not a mark"),
            "a mark is a number up to 0xffffffff, with a mask if needed: 16, \"0x10\", \"0x10/0xff\"",
        ));
    };
    if mask == 0 {
        return Err(Fault::new(
            Code::BadValue,
            format!("the mark `{text}` has an empty mask, so it matches every packet"),
            "leave mark out, or name the bits to look at in the mask",
        ));
    }
    if value & !mask != 0 {
        return Err(Fault::new(
            Code::NeverMatches,
            format!("the mark `{text}` can never match: {value:#x} has bits outside the mask"),
            format!("write \"{:#x}/{mask:#x}\", or widen the mask", value & mask),
        ));
    }
    Ok(Mark { value, mask })
}

//! Rates as tc writes them.

use serde_json::{Value, json};

use super::decimal::{DECIMAL, Decimal};
use super::{Fault, closest};
use crate::Code;

pub(crate) const MIN_BPS: u64 = 1_000;
pub(crate) const MAX_BPS: u64 = 400_000_000_000;

const KI: u64 = 1 << 10;

/// Unit and bits per second; the largest decimal ones last.
const UNITS: &[(&str, u64)] = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
    ("kibit", KI),
    ("mibit", KI * KI),
    ("gibit", KI * KI * KI),
    ("bps", 8),
    ("kbps", 8_000),
    ("mbps", 8_000_000),
    ("gbps", 8_000_000_000),
];

pub(crate) fn schema() -> Value {
    let units = super::any_case(UNITS.iter().map(|(name, _)| *name));
    json!({
        "type": "string",
        "pattern": format!("^{DECIMAL}({units})$"),
        "examples": ["25mbit", "2.5gbit"],
    })
}

/// A rate and whether it was written in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub bps: u64,
    pub in_bytes: bool,
}

/// Fractions of a bit per second are rounded to the nearest bit.
pub(crate) fn parse(text: &str) -> Result<Rate, Fault> {
    if let Some(number) = text.strip_prefix('-') {
        return Err(not_positive(text, number));
    }
    let Some((number, unit)) = Decimal::split(text) else {
        return Err(Fault::new(
            Code::BadUnit,
            format!("`{text}` is not a rate"),
            "a rate is a number and a unit, such as \"25mbit\" or \"2.5gbit\"",
        ));
    };
    let number_text = &text[..text.len() - unit.len()];
    if number.is_zero() {
        return Err(not_positive(text, number_text));
    }
    let lower = unit.to_ascii_lowercase();
    let Some((name, factor)) = UNITS.iter().find(|(name, _)| *name == lower) else {
        return Err(bad_unit(text, number_text, unit));
    };
    let bps = number.times(*factor);
    if !(MIN_BPS..=MAX_BPS).contains(&bps) {
        return Err(Fault::new(
            Code::OutOfRange,
            format!("the rate `{text}` is out of range"),
            "rates go from 1kbit to 400gbit",
        ));
    }
    Ok(Rate {
        bps,
        in_bytes: name.ends_with("bps"),
    })
}

/// The shortest exact spelling: 2500000000 is `2.5gbit`, 1000000001 is `1000000001bit`.
pub fn format_rate(rate_bps: u64) -> String {
    const STEPS: [(&str, u64); 3] = [
        ("gbit", 1_000_000_000),
        ("mbit", 1_000_000),
        ("kbit", 1_000),
    ];
    for (unit, factor) in STEPS {
        let thousandths = rate_bps / (factor / 1_000);
        if rate_bps >= factor && thousandths * (factor / 1_000) == rate_bps {
            let fraction = format!("{:03}", thousandths % 1_000);
            let text = format!("{}.{fraction}", thousandths / 1_000);
            let text = text.trim_end_matches('0').trim_end_matches('.');
            return format!("{text}{unit}");
        }
    }
    format!("{rate_bps}bit")
}

fn not_positive(text: &str, number: &str) -> Fault {
    let positive = match number.starts_with(|c: char| matches!(c, '1'..='9')) {
        true => format!("write \"{number}\" if the sign is a slip; "),
        false => String::new(),
    };
    Fault::new(
        Code::RateNotPositive,
        format!("the rate `{text}` is not more than zero"),
        format!(
            "{positive}the smallest rate is \"1kbit\"; to let a class send only what is left over, \
             set priority = \"background\""
        ),
    )
}

fn bad_unit(text: &str, number: &str, unit: &str) -> Fault {
    let known = "units are bit kbit mbit gbit tbit, and bps kbps mbps gbps for bytes per second";
    let bare = unit.trim().to_ascii_lowercase();
    let help = if bare.is_empty() {
        match parse(&format!("{number}bit")) {
            Ok(rate) => format!(
                "write \"{}\" if this is in bits per second; {known}",
                format_rate(rate.bps)
            ),
            Err(_) => format!("write \"{number}mbit\", or whichever unit you mean; {known}"),
        }
    } else if UNITS.iter().any(|(name, _)| *name == bare) {
        format!("write \"{number}{bare}\", without the blank")
    } else {
        match meant(&bare) {
            Meant::BitsOrBytes(step, step_name) => format!(
                "write \"{number}{step}bit\" for {step_name}bits per second, or \
                 \"{number}{step}bps\" for {step_name}bytes per second"
            ),
            Meant::Unit(name) => format!("write \"{number}{name}\"; {known}"),
            Meant::Unclear => known.to_owned(),
        }
    };
    let message = match bare.is_empty() {
        true => format!("the rate `{text}` has no unit"),
        false => format!("`{}` is not a unit of rate", unit.trim()),
    };
    Fault::new(Code::BadUnit, message, help)
}

enum Meant {
    /// The letter of the step and its name.
    BitsOrBytes(&'static str, &'static str),
    Unit(&'static str),
    Unclear,
}

/// What `25mb` or `25m/s` probably means.
fn meant(unit: &str) -> Meant {
    let stem = unit.trim_end_matches("/sec").trim_end_matches("/s");
    match stem {
        "k" | "kb" => Meant::BitsOrBytes("k", "kilo"),
        "m" | "mb" => Meant::BitsOrBytes("m", "mega"),
        "g" | "gb" => Meant::BitsOrBytes("g", "giga"),
        "b" => Meant::BitsOrBytes("", ""),
        _ => closest(stem, UNITS.iter().map(|(name, _)| *name)).map_or(Meant::Unclear, Meant::Unit),
    }
}

//! Rates as tc writes them.

use serde_json::{Value, json};

use super::Fault;
use super::decimal::{DECIMAL, Decimal};
use super::meant::{self, RateOf};
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
    let is_positive = Decimal::split(number).is_some_and(|(number, _)| !number.is_zero());
    let positive = if is_positive && parse(number).is_ok() {
        format!("write \"{number}\" if the sign is a slip; ")
    } else {
        String::new()
    };
    Fault::new(
        Code::RateNotPositive,
        format!("the rate `{text}` must be positive"),
        format!(
            "{positive}the smallest rate is \"1kbit\"; to let a class send only what is left over, \
             set priority = \"background\""
        ),
    )
}

const KNOWN: &str =
    "units are bit kbit mbit gbit tbit, and bps kbps mbps gbps for bytes per second";

/// Units of a part of something.
const PARTS: [&str; 3] = ["%", "percent", "pct"];
const NO_PARTS: &str = "rates are absolute, such as \"25mbit\"; classes share what is spare in \
                        proportion to weight";

fn bad_unit(text: &str, number: &str, unit: &str) -> Fault {
    let bare = unit.trim();
    if bare.is_empty() {
        return no_unit(number);
    }
    let lower = bare.to_ascii_lowercase();
    let is_blank_alone = UNITS.iter().any(|(name, _)| *name == lower);
    let help = if is_blank_alone && parse(&format!("{number}{lower}")).is_ok() {
        format!("write \"{number}{lower}\", without the blank")
    } else if PARTS.contains(&&*lower) {
        NO_PARTS.to_owned()
    } else {
        instead(text, bare).unwrap_or_else(|| KNOWN.to_owned())
    };
    Fault::new(
        Code::BadUnit,
        format!("`{bare}` is not a unit of rate"),
        help,
    )
}

/// The error of a number alone.
pub(crate) fn no_unit(number: &str) -> Fault {
    let in_unit = |unit: &str| parse(&format!("{number}{unit}")).ok();
    let help = match (in_unit("bit"), in_unit("mbit")) {
        (Some(rate), _) => {
            let bits = format_rate(rate.bps);
            format!("write \"{bits}\" if this is in bits per second; {KNOWN}")
        }
        (None, Some(_)) => {
            format!("write \"{number}mbit\" if this is in megabits per second; {KNOWN}")
        }
        (None, None) => KNOWN.to_owned(),
    };
    let problem = format!("the rate `{number}` has no unit");
    Fault::new(Code::BadUnit, problem, help)
}

/// What to write instead of the unit, if it is clear what it means.
fn instead(text: &str, unit: &str) -> Option<String> {
    let meant = meant::rate(unit, UNITS.iter().map(|(name, _)| *name))?;
    let step = meant.step;
    let bits = || spelled(text, &format!("{}bit", step.letters), step.factor);
    let bytes = || spelled(text, &format!("{}bps", step.letters), 8 * step.factor);
    Some(match meant.of {
        RateOf::Bits => format!("write \"{}\"; {KNOWN}", bits()?),
        RateOf::Bytes => format!("write \"{}\"; {KNOWN}", bytes()?),
        RateOf::BitsOrBytes => {
            let (bits, bytes, name) = (bits()?, bytes()?, step.name);
            format!(
                "write \"{bits}\" for {name}bits per second, or \"{bytes}\" for {name}bytes per \
                 second"
            )
        }
    })
}

/// The number of `text` in units of `factor` bits per second: with `unit` if that is one, else in
/// bits. `None` if no rate is as large.
fn spelled(text: &str, unit: &str, factor: u64) -> Option<String> {
    let (number, rest) = Decimal::split(text)?;
    let bps = number.times(factor);
    let spelled = if UNITS.contains(&(unit, factor)) {
        format!("{}{unit}", &text[..text.len() - rest.len()])
    } else {
        format_rate(bps)
    };
    let read = parse(&spelled).ok()?;
    (read.bps == bps).then_some(spelled)
}

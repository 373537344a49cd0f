//! Keys that classes and tenants have in common: their share of the node.

use toml::de::DeValue;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Takes};
use crate::read::section::Section;
use crate::source::Span;
use crate::value::rate::{Rate, format_rate};
use crate::value::{Fault, priority, rate, weight};

pub(super) const WEIGHT: Key = Key::new(
    "weight",
    Takes::Number(weight::RANGE_MILLI, 1000),
    "Its share of spare capacity, three decimals; default: rate in Mbit/s, without it 1",
);

pub(super) const PRIORITY: Key = Key::new(
    "priority",
    Takes::Spelled(priority::schema),
    "0 goes first; default: 3 with a rate, 6 without",
);

/// The default: a class with a rate goes before one without.
const PRIORITY_GUARANTEED: u8 = 3;
pub(crate) const PRIORITY_REST: u8 = 6;

/// Without a rate. With one, it is the rate in Mbit/s.
pub(crate) const WEIGHT_DEFAULT_MILLI: u64 = 1000;
const BPS_PER_WEIGHT_MILLI: u64 = 1000;

/// The value of a key that takes a rate.
pub(crate) struct ReadRate {
    /// Absent if it could not be read.
    pub bps: Option<u64>,
    pub span: Span,
}

/// A share in the file's terms. Wrong values are absent, and have been reported.
pub(crate) struct ReadShare {
    pub rate: Option<ReadRate>,
    pub ceil: Option<ReadRate>,
    pub floor: Option<ReadRate>,
    weight_milli: Option<u64>,
    priority: Option<u8>,
}

impl ReadShare {
    /// Its own limit, if it has one.
    pub fn limit(&self) -> Option<&ReadRate> {
        self.ceil.as_ref().or(self.rate.as_ref())
    }

    /// As the file has it.
    pub fn stated_priority(&self) -> Option<u8> {
        self.priority
    }

    pub fn priority(&self) -> u8 {
        self.priority.unwrap_or(match self.rate {
            Some(_) => PRIORITY_GUARANTEED,
            None => PRIORITY_REST,
        })
    }

    /// Times 1000.
    pub fn weight_milli(&self) -> u64 {
        self.weight_milli.unwrap_or(match bps_of(&self.rate) {
            Some(bps) => (bps + BPS_PER_WEIGHT_MILLI / 2) / BPS_PER_WEIGHT_MILLI,
            None => WEIGHT_DEFAULT_MILLI,
        })
    }
}

/// Absent without a valid rate.
pub(crate) fn bps_of(rate: &Option<ReadRate>) -> Option<u64> {
    rate.as_ref()?.bps
}

impl ReadShare {
    /// Of a class that no line of the file describes: `span` is where it is asked for.
    pub(super) fn for_preset(floor_bps: Option<u64>, span: &Span, priority: u8) -> Self {
        Self {
            rate: None,
            ceil: None,
            floor: floor_bps.map(|bps| ReadRate {
                bps: Some(bps),
                span: span.clone(),
            }),
            weight_milli: None,
            priority: Some(priority),
        }
    }
}

pub(super) fn read(section: &Section, findings: &mut Findings) -> ReadShare {
    ReadShare {
        rate: read_rate(section, "rate", findings),
        ceil: read_rate(section, "ceil", findings),
        floor: read_rate(section, "floor", findings),
        weight_milli: section.number("weight", "weight = 1.5", findings, weight::parse),
        priority: section.text_or_integer("priority", "priority = 3", findings, priority::parse),
    }
}

/// A key that takes a rate, of a link, a tenant or a class.
pub(in crate::read) fn read_rate(
    section: &Section,
    key: &str,
    findings: &mut Findings,
) -> Option<ReadRate> {
    let field = section.get(key)?;
    let parsed = match field.value {
        DeValue::String(text) => rate::parse(text),
        DeValue::Integer(number) => Err(bare_rate(&number.to_string())),
        DeValue::Float(number) => Err(bare_rate(number.as_str())),
        _ => Err(field.wrong_type("text in quotes", &format!("{key} = \"25mbit\""))),
    };
    let rate = field.settle(parsed, findings);
    if let Some(Rate {
        bps,
        in_bytes: true,
    }) = rate
    {
        let bits = format_rate(bps);
        let warning = Diagnostic::warning(
            Code::ByteRate,
            format!("this is in bytes per second, as in tc: {bits}"),
            format!("write \"{bits}\" to say so without doubt"),
        );
        findings.add(warning.at(&field.span, ""));
    }
    Some(ReadRate {
        bps: rate.map(|rate| rate.bps),
        span: field.span,
    })
}

/// A number without quotes: its error as text, and otherwise that it has no unit.
fn bare_rate(number: &str) -> Fault {
    match rate::parse(number) {
        Err(fault) => fault,
        Ok(_) => rate::no_unit(number),
    }
}

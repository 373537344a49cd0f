//! The rate of a link or a download: fixed, or within bounds that taktd keeps to; and the hosts that
//! it asks for the delay of the line.

use std::net::IpAddr;

use serde_json::{Value, json};
use toml::de::DeValue;

use super::share::{ReadRate, read_rate};
use crate::Code;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes};
use crate::read::section::{Section, missing, wrong_type};
use crate::source::Span;
use crate::value::{Fault, rate, reflector};

const RANGE: Schema = Schema {
    what: "rate that changes",
    place: None,
    doc: "The bounds of a line that changes, and its rate without a measurement",
    keys: &[
        Key::required(
            "min",
            Takes::Spelled(rate::schema),
            "The rate that the line always has",
        ),
        Key::required(
            "base",
            Takes::Spelled(rate::schema),
            "Its usual rate: used at first, and while nothing is measured",
        ),
        Key::required(
            "max",
            Takes::Spelled(rate::schema),
            "The most that it ever has",
        ),
    ],
};

/// Reflectors of one link.
pub(crate) const REFLECTORS_MAX: usize = 8;

/// The bounds of a rate in the file's terms.
pub(crate) struct ReadRange {
    pub min: Option<ReadRate>,
    pub max: Option<ReadRate>,
}

/// The hosts that are asked, as the file has them.
#[derive(Clone)]
pub(crate) struct ReadReflectors {
    pub addresses: Vec<IpAddr>,
    pub span: Span,
}

/// What a link says instead of a rate whose device decides.
pub(crate) const BY_DEVICE: &str = "line";

/// Of a link; a download's device takes all that comes.
pub(super) fn link_schema() -> Value {
    let mut value = schema();
    if let Some(kinds) = value["anyOf"].as_array_mut() {
        kinds.push(json!({"const": BY_DEVICE}));
    }
    value
}

pub(super) fn schema() -> Value {
    let fixed = rate::schema();
    let bounds = json!({
        "type": "object",
        "description": RANGE.doc,
        "additionalProperties": false,
        "required": RANGE.names().collect::<Vec<_>>(),
        "properties": RANGE.keys.iter().map(|key| (key.name.to_owned(), {
            let mut property = rate::schema();
            property["description"] = key.doc.into();
            property
        })).collect::<serde_json::Map<_, _>>(),
    });
    json!({"anyOf": [fixed, bounds]})
}

pub(super) fn reflectors_schema() -> Value {
    json!({"type": "array", "minItems": 1, "maxItems": REFLECTORS_MAX, "items": reflector::schema()})
}

/// Where a link's `rate` says that its device decides.
pub(super) fn by_device(section: &Section) -> Option<Span> {
    let field = section.get("rate")?;
    match field.value {
        DeValue::String(text) if text == BY_DEVICE => Some(field.span),
        _ => None,
    }
}

/// `rate` of a link or a download: the fixed rate or the base, and the bounds if there are any.
pub(super) fn read_link_rate(
    section: &Section,
    findings: &mut Findings,
) -> (Option<ReadRate>, Option<ReadRange>) {
    let Some(field) = section.get("rate") else {
        return (None, None);
    };
    if let Some(span) = by_device(section) {
        let most = ReadRate {
            bps: Some(rate::MAX_BPS),
            span,
        };
        return (Some(most), None);
    }
    let DeValue::Table(table) = field.value else {
        return (read_rate(section, "rate", findings), None);
    };
    let bounds = Section::open(table, &RANGE, findings);
    for key in RANGE.names() {
        if bounds.get(key).is_none() {
            let example = "rate = { min = \"5mbit\", base = \"20mbit\", max = \"60mbit\" }";
            findings.add(missing("a rate that changes", key, example).at(&field.span, "needs it"));
        }
    }
    let base = read_rate(&bounds, "base", findings).unwrap_or(ReadRate {
        bps: None,
        span: field.span,
    });
    let range = ReadRange {
        min: read_rate(&bounds, "min", findings),
        max: read_rate(&bounds, "max", findings),
    };
    (Some(base), Some(range))
}

pub(super) fn read_reflectors(
    section: &Section,
    findings: &mut Findings,
) -> Option<ReadReflectors> {
    const EXPECTED: &str = "a list of addresses";
    const EXAMPLE: &str = "reflectors = [\"9.9.9.9\", \"1.1.1.1\", \"8.8.8.8\"]";
    let field = section.get("reflectors")?;
    let DeValue::Array(array) = field.value else {
        findings.add(field.wrong_type(EXPECTED, EXAMPLE).at(&field.span));
        // It is one mistake: they are there.
        return Some(ReadReflectors {
            addresses: Vec::new(),
            span: field.span,
        });
    };
    let mut addresses: Vec<IpAddr> = Vec::new();
    for entry in array.iter() {
        let read = match entry.get_ref() {
            DeValue::String(text) => reflector::parse(text),
            other => Err(wrong_type("reflectors", EXPECTED, other, EXAMPLE)),
        };
        match read {
            Ok(address) if addresses.contains(&address) => {
                findings.add(twice(address).at(&entry.span()));
            }
            Ok(address) => addresses.push(address),
            Err(fault) => findings.add(fault.at(&entry.span())),
        }
    }
    if !(1..=REFLECTORS_MAX).contains(&array.len()) {
        let fault = Fault::new(
            Code::OutOfRange,
            format!("{} reflectors", array.len()),
            format!(
                "name 1 to {REFLECTORS_MAX} hosts; three or more tell a faulty reflector from the line"
            ),
        );
        findings.add(fault.at(&field.span));
    }
    Some(ReadReflectors {
        addresses,
        span: field.span,
    })
}

fn twice(address: IpAddr) -> Fault {
    Fault::new(
        Code::RateRange,
        format!("the reflector {address} is named twice"),
        "name each host once: the median is of different hosts",
    )
}

//! `[[station]]`: receivers over the air.

use std::net::IpAddr;

use serde_json::{Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::START;
use crate::read::keys::{Key, Schema, Takes};
use crate::read::section::{Field, Section, missing, tables, wrong_type};
use crate::source::Span;
use crate::traffic::{STATIONS_MAX, Station};
use crate::value::{Fault, decibel, duration, name, prefix};

const POINTS_MAX: usize = 1000;
const TIME_NS: std::ops::RangeInclusive<u64> = 0..=86_400_000_000_000;
const ADDRESS: &str = "address = \"192.0.2.10\"";
const SNR: &str = "snr = 25, or snr = [[\"0s\", 25], [\"60s\", 3.5]]";

pub(super) const STATION: Schema = Schema {
    what: "station",
    place: None,
    doc: "A receiver over the air",
    keys: &[
        Key::required("name", Takes::Spelled(name::schema), "The name in outputs"),
        Key::required(
            "address",
            Takes::Spelled(prefix::schema),
            "Packets to this address go to it",
        ),
        Key::required(
            "snr",
            Takes::Spelled(snr_schema),
            "Its mean signal-to-noise ratio in dB, or pairs of times and ratios with straight \
             lines between them",
        ),
    ],
};

fn snr_schema() -> Value {
    let point = json!([duration::schema(), {"type": "number"}]);
    json!({"anyOf": [
        {"type": "number"},
        {"type": "array", "items": {"type": "array", "items": point}, "minItems": 1},
    ]})
}

/// All stations; they need the device to be an access point's radio, which needs them.
pub(super) fn read_all(file: &Section, has_medium: bool, findings: &mut Findings) -> Vec<Station> {
    let tables = tables(file.get("station"), "[[station]]", findings);
    if let (Some((_, span)), false) = (tables.first(), has_medium) {
        let error = Diagnostic::error(
            Code::IdleKey,
            "`station` does nothing without `medium` in [device]",
            "add [device] with medium = \"802.11g\", or take the stations out",
        );
        findings.add(error.at(span, "for nothing"));
    }
    if tables.is_empty() && has_medium {
        let error = missing(
            "a device with a medium",
            "station",
            "[[station]] with name = \"laptop\", address = \"192.0.2.10\" and snr = 25",
        );
        findings.add(error.at(&START, ""));
    }
    if let Some((_, span)) = tables.get(STATIONS_MAX) {
        let error = Diagnostic::error(
            Code::OutOfRange,
            format!("the file has more than {STATIONS_MAX} stations"),
            "that is how many a link knows",
        );
        findings.add(error.at(span, "one too many"));
        return Vec::new();
    }
    let mut stations: Vec<Station> = Vec::new();
    for (table, span) in tables {
        let Some(station) = read(table, &span, findings) else {
            continue;
        };
        let is_like =
            |other: &Station| other.name == station.name || other.address == station.address;
        if stations.iter().any(is_like) {
            let error = Diagnostic::error(
                Code::BadName,
                format!(
                    "the name or the address of station `{}` is another's",
                    station.name
                ),
                "give each a name and an address of its own",
            );
            findings.add(error.at(&span, "again"));
        }
        stations.push(station);
    }
    stations
}

fn read(table: &DeTable, span: &Span, findings: &mut Findings) -> Option<Station> {
    let section = Section::open(table, &STATION, findings);
    let (name, _) = section.name("station", "laptop", span.clone(), findings);
    for (key, example) in [("address", ADDRESS), ("snr", SNR)] {
        if section.get(key).is_none() {
            findings.add(missing("a station", key, example).at(span, ""));
        }
    }
    let address = section.text("address", ADDRESS, findings, parse_address);
    let snr = section.get("snr").and_then(|field| {
        let parsed = parse_snr(&field);
        field.settle(parsed, findings)
    });
    Some(Station {
        name: name?,
        address: address?,
        snr_centidb: snr?,
    })
}

fn parse_address(text: &str) -> Result<IpAddr, Fault> {
    let prefix = prefix::parse(text)?;
    let bits = if prefix.addr.is_ipv4() { 32 } else { 128 };
    if prefix.len == bits {
        Ok(prefix.addr)
    } else {
        Err(Fault::new(
            Code::BadAddress,
            format!("`{text}` is a network"),
            "a station has one address",
        ))
    }
}

fn number(value: &DeValue) -> Result<String, Fault> {
    match value {
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        other => Err(wrong_type(
            "snr",
            "a number of dB or a list of pairs",
            other,
            SNR,
        )),
    }
}

fn parse_snr(field: &Field) -> Result<Vec<(u64, i32)>, Fault> {
    let DeValue::Array(array) = field.value else {
        return Ok(vec![(0, decibel::parse(&number(field.value)?)?)]);
    };
    if array.is_empty() || array.len() > POINTS_MAX {
        return Err(Fault::new(
            Code::BadPoints,
            format!("{} points make no path", array.len()),
            format!("1 to {POINTS_MAX} points do: {SNR}"),
        ));
    }
    let mut points: Vec<(u64, i32)> = Vec::with_capacity(array.len());
    for entry in array.iter() {
        let (at_ns, centidb) = parse_point(entry)?;
        if points
            .last()
            .is_some_and(|(before_ns, _)| *before_ns >= at_ns)
        {
            return Err(Fault::new(
                Code::BadPoints,
                "a point of snr is not later than the one before it",
                "list points by rising times",
            ));
        }
        points.push((at_ns, centidb));
    }
    Ok(points)
}

fn parse_point(entry: &Spanned<DeValue>) -> Result<(u64, i32), Fault> {
    let DeValue::Array(pair) = entry.get_ref() else {
        return Err(wrong_type("snr", "a list of pairs", entry.get_ref(), SNR));
    };
    let values: Vec<&DeValue> = pair.iter().map(Spanned::get_ref).collect();
    let [DeValue::String(time), snr] = values.as_slice() else {
        return Err(Fault::new(
            Code::BadPoints,
            "a point of snr is not a time and a number of dB",
            format!("write it like this: {SNR}"),
        ));
    };
    let at_ns = duration::parse_within("snr", time, TIME_NS)?;
    Ok((at_ns, decibel::parse(&number(snr)?)?))
}

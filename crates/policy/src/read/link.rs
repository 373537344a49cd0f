//! `[link.DEV]`

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::class::{self, ReadClass};
use super::section::{Schema, Section, in_file_order, wrong_type};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::source::{Source, Span};
use crate::value::rate::{Rate, format_rate};
use crate::value::{Fault, closest, duration, rate};
use crate::{Code, Packets};

const LINK: Schema = Schema {
    what: "link",
    keys: &["rate", "overhead", "pacing", "packets", "lag_max", "class"],
    later: &[],
};

const OVERHEAD_MAX_BYTES: u64 = 256;
const LAG_DEFAULT_NS: u64 = 10_000_000;
const LAG_MIN_NS: u64 = 100_000;
const LAG_MAX_NS: u64 = 1_000_000_000;

/// Linux's IFNAMSIZ without the terminating zero.
const DEVICE_MAX_BYTES: usize = 15;

/// A link as the file has it. What was wrong is absent, and has been reported.
pub(crate) struct ReadLink {
    pub device: String,
    pub device_span: Span,
    pub line: usize,
    pub rate_bps: Option<u64>,
    pub rate_span: Span,
    pub overhead_bytes: u32,
    pub packets: Packets,
    pub lag_max_ns: u64,
    pub classes: Vec<ReadClass>,
}

pub(super) fn read(
    device: &str,
    device_span: Span,
    value: &Spanned<DeValue>,
    source: &Source,
    findings: &mut Findings,
) -> Option<ReadLink> {
    let DeValue::Table(table) = value.get_ref() else {
        let fault = match LINK.keys.contains(&device) {
            // [link] rate = …
            true => Fault::new(
                Code::WrongType,
                format!("`{device}` belongs to a device"),
                "name the device in the table's header: [link.eth0]",
            ),
            false => wrong_type(device, "a table", value.get_ref(), "[link.eth0]"),
        };
        findings.add(fault.at(&device_span));
        return None;
    };
    if let Err(fault) = check_device(device) {
        findings.add(fault.at(&device_span));
    }
    let parts = split_names(table);
    for (part, part_span) in &parts {
        findings.add(split_device(device, part, part_span));
    }
    if !parts.is_empty() && parts.len() == table.len() {
        return None; // The header meant another device; this one is not in the file.
    }
    let parts: Vec<&str> = parts.into_iter().map(|(part, _)| part).collect();
    let section = Section::open_except(table, &LINK, &parts, findings);
    if section.get("rate").is_none() {
        let help = "add the rate of the wire, such as rate = \"1gbit\"";
        let error = Diagnostic::error(Code::MissingKey, format!("{device} has no rate"), help);
        findings.add(error.at(&device_span, "this link"));
    }
    let rate = read_rate(&section, findings);
    check_pacing(&section, findings);
    Some(ReadLink {
        device: device.to_owned(),
        line: source.line(device_span.start),
        rate_bps: rate.map(|rate| rate.bps),
        rate_span: section
            .get("rate")
            .map_or(device_span.clone(), |field| field.span),
        device_span,
        overhead_bytes: section
            .integer("overhead", 0..=OVERHEAD_MAX_BYTES, findings)
            .map_or(0, |bytes| bytes as u32),
        packets: read_packets(&section, findings),
        lag_max_ns: read_lag(&section, findings),
        classes: class::read_all(section.get("class"), source, findings),
    })
}

/// A `rate` key, of a link or of a class.
pub(super) fn read_rate(section: &Section, findings: &mut Findings) -> Option<Rate> {
    let field = section.get("rate")?;
    let parsed = match field.value {
        DeValue::String(text) => rate::parse(text),
        DeValue::Integer(number) => Err(bare_rate(&number.to_string())),
        DeValue::Float(number) => Err(bare_rate(number.as_str())),
        _ => Err(field.wrong_type("text in quotes", "rate = \"25mbit\"")),
    };
    let rate = field.settle(parsed, findings)?;
    if rate.in_bytes {
        let bits = format_rate(rate.bps);
        let warning = Diagnostic::warning(
            Code::ByteRate,
            format!("this is in bytes per second, as in tc: {bits}"),
            format!("write \"{bits}\" to say so without doubt"),
        );
        findings.add(warning.at(&field.span, ""));
    }
    Some(rate)
}

/// A number without quotes: what is wrong with it as text, and otherwise that it has no unit.
fn bare_rate(number: &str) -> Fault {
    match rate::parse(number) {
        Err(fault) => fault,
        Ok(_) => Fault::new(
            Code::BadUnit,
            format!("the rate {number} has no unit"),
            format!("write \"{number}mbit\", or whichever unit you mean"),
        ),
    }
}

fn read_packets(section: &Section, findings: &mut Findings) -> Packets {
    let choose = |text: &str| match text {
        "mtu" => Ok(Packets::Mtu),
        "gso" => Ok(Packets::Gso),
        _ => Err(Fault::not_a_choice("packets", text, &["mtu", "gso"])),
    };
    section
        .text("packets", "packets = \"mtu\"", findings, choose)
        .unwrap_or(Packets::Mtu)
}

/// There is only one way of pacing so far, so there is nothing to return.
fn check_pacing(section: &Section, findings: &mut Findings) {
    let choose = |text: &str| match text {
        "timer" => Ok(()),
        "gap" => Err(Fault::new(
            Code::NotYet,
            "pacing = \"gap\" (idle time filled with PAUSE frames) is not supported by this \
             version of Takt",
            "write pacing = \"timer\", or leave it out",
        )),
        _ => Err(Fault::not_a_choice("pacing", text, &["timer"])),
    };
    section.text("pacing", "pacing = \"timer\"", findings, choose);
}

fn read_lag(section: &Section, findings: &mut Findings) -> u64 {
    let parse = |text: &str| match duration::parse_ns(text)? {
        lag_ns @ LAG_MIN_NS..=LAG_MAX_NS => Ok(lag_ns),
        _ => Err(Fault::new(
            Code::OutOfRange,
            format!("lag_max `{text}` is out of range"),
            "lag_max goes from \"100us\" to \"1s\"; the default is \"10ms\"",
        )),
    };
    section
        .text("lag_max", "lag_max = \"10ms\"", findings, parse)
        .unwrap_or(LAG_DEFAULT_NS)
}

/// What the kernel's dev_valid_name() allows.
fn check_device(device: &str) -> Result<(), Fault> {
    let (problem, help) = if device.is_empty() {
        ("it is empty", "name the device as `ip link` shows it")
    } else if device.len() > DEVICE_MAX_BYTES {
        (
            "it is longer than 15 bytes",
            "`ip link` shows the name as the kernel has it",
        )
    } else if device == "." || device == ".." {
        (
            "the kernel reserves it",
            "name the device as `ip link` shows it",
        )
    } else if device.contains(['/', ':']) || device.contains(char::is_whitespace) {
        (
            "it has a slash, a colon or a blank in it",
            "`ip link` shows the name as the kernel has it",
        )
    } else {
        return Ok(());
    };
    Err(Fault::new(
        Code::BadDevice,
        format!("`{device}` cannot be a device's name: {problem}"),
        help,
    ))
}

/// Tables in a link that are no key of it, nor look like one: `[link.eth0.100]` without quotes is
/// a table `100` in the link `eth0`.
fn split_names<'a>(table: &'a DeTable<'a>) -> Vec<(&'a str, Span)> {
    in_file_order(table)
        .into_iter()
        .filter(|(key, _, value)| {
            matches!(value.get_ref(), DeValue::Table(_))
                && !LINK.keys.contains(key)
                && closest(key, LINK.keys.iter().copied()).is_none()
        })
        .map(|(key, span, _)| (key, span))
        .collect()
}

fn split_device(device: &str, part: &str, part_span: &Span) -> Diagnostic {
    Diagnostic::error(
        Code::BadDevice,
        format!("`{device}.{part}` without quotes is a key in a key, not a device's name"),
        format!("quote a name with a dot: [link.\"{device}.{part}\"]"),
    )
    .at(part_span, "taken for a key of the link")
}

//! `[link.DEV]`

pub(super) mod aqm;
pub(super) mod class;
mod horizon;
pub(super) mod matching;
pub(super) mod share;
pub(super) mod tenant;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::class::ReadClass;
use self::share::{bps_of, read_rate};
use self::tenant::ReadTenant;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::section::{Schema, Section, in_file_order, wrong_type};
use crate::source::{Source, Span};
use crate::value::{Fault, closest, duration};
use crate::{Backend, BeyondHorizon, Code, OnConflict, Pacing, Packets};

const LINK: Schema = Schema {
    what: "link",
    keys: &[
        "rate",
        "overhead",
        "pacing",
        "packets",
        "lag_max",
        "horizon",
        "beyond_horizon",
        "ecn",
        "on_conflict",
        "backend",
        "tenant",
        "class",
    ],
};

/// The kernel has room for 4095; one is kept for the implicit default class.
const ENTITIES_MAX: usize = 4094;

const OVERHEAD_MAX_BYTES: u64 = 256;
const LAG_DEFAULT_NS: u64 = 10_000_000;
const LAG_MIN_NS: u64 = 100_000;
const LAG_MAX_NS: u64 = 1_000_000_000;

/// Linux's IFNAMSIZ without the terminating zero.
const DEVICE_MAX_BYTES: usize = 15;
/// The no-break space of Latin-1.
const LATIN1_BLANK: u8 = 0xa0;

/// A link in the file's terms. Wrong values are absent, and have been reported.
pub(crate) struct ReadLink {
    pub device: String,
    pub device_span: Span,
    pub line: usize,
    pub rate_bps: Option<u64>,
    pub rate_span: Span,
    pub overhead_bytes: u32,
    pub pacing: Pacing,
    pub packets: Packets,
    pub lag_max_ns: u64,
    pub horizon_ns: u64,
    pub beyond_horizon: BeyondHorizon,
    pub ecn: bool,
    pub on_conflict: OnConflict,
    pub backend: Option<Backend>,
    pub tenants: Vec<ReadTenant>,
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
    let rate = read_rate(&section, "rate", findings);
    let tenants = tenant::read_all(section.get("tenant"), source, findings);
    let classes = class::read_all(section.get("class"), source, findings);
    check_count(&tenants, &classes, findings);
    Some(ReadLink {
        device: device.to_owned(),
        line: source.line(device_span.start),
        rate_bps: bps_of(&rate),
        rate_span: rate.map_or(device_span.clone(), |rate| rate.span),
        device_span,
        overhead_bytes: section
            .integer("overhead", 0..=OVERHEAD_MAX_BYTES, findings)
            .map_or(0, |bytes| bytes as u32),
        pacing: read_pacing(&section, findings),
        packets: read_packets(&section, findings),
        lag_max_ns: read_lag(&section, findings),
        horizon_ns: horizon::read_ns(&section, findings),
        beyond_horizon: horizon::read_beyond(&section, findings),
        ecn: section.boolean("ecn", findings).unwrap_or(false),
        on_conflict: read_on_conflict(&section, findings),
        backend: read_backend(&section, findings),
        tenants,
        classes,
    })
}

/// The kernel's limit is for both together.
fn check_count(tenants: &[ReadTenant], classes: &[ReadClass], findings: &mut Findings) {
    let Some(excess) = classes.get(ENTITIES_MAX - tenants.len()) else {
        return;
    };
    let (problem, also) = match tenants.len() {
        0 => (format!("{} classes", classes.len()), ""),
        n => (
            format!("{} classes and {n} tenants", classes.len()),
            " together",
        ),
    };
    let error = Diagnostic::error(
        Code::TooManyClasses,
        format!("{problem} are more than the {ENTITIES_MAX} a link can have{also}"),
        "let one class match several kinds of traffic: match = [{ … }, { … }]",
    );
    findings.add(error.at(&excess.span, "the first one too many"));
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

fn read_pacing(section: &Section, findings: &mut Findings) -> Pacing {
    let choose = |text: &str| match text {
        "timer" => Ok(Pacing::Timer),
        "gap" => Ok(Pacing::Gap),
        _ => Err(Fault::not_a_choice("pacing", text, &["timer", "gap"])),
    };
    section
        .text("pacing", "pacing = \"timer\"", findings, choose)
        .unwrap_or(Pacing::Timer)
}

fn read_on_conflict(section: &Section, findings: &mut Findings) -> OnConflict {
    let choose = |text: &str| match text {
        "report" => Ok(OnConflict::Report),
        "restore" => Ok(OnConflict::Restore),
        _ => Err(Fault::not_a_choice(
            "on_conflict",
            text,
            &["report", "restore"],
        )),
    };
    section
        .text("on_conflict", "on_conflict = \"report\"", findings, choose)
        .unwrap_or(OnConflict::Report)
}

fn read_backend(section: &Section, findings: &mut Findings) -> Option<Backend> {
    section.text("backend", "backend = \"tree\"", findings, |text| {
        let mut backends = Backend::ALL.into_iter();
        let found = backends.find(|backend| backend.name() == text);
        found.ok_or_else(|| Fault::not_a_choice("backend", text, &Backend::ALL.map(Backend::name)))
    })
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

/// The names that the kernel's dev_valid_name() allows. It looks at bytes and takes this one, in
/// any character, for a blank. It replaces a percent sign by a number.
pub(super) fn check_device(device: &str) -> Result<(), Fault> {
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
    } else if device.contains(['/', ':'])
        || device.contains(char::is_whitespace)
        || device.bytes().any(|byte| byte == LATIN1_BLANK)
    {
        (
            "it has a slash, a colon or a blank in it",
            "`ip link` shows the name as the kernel has it",
        )
    } else if device.contains(['%', '\0']) {
        (
            "it has a percent sign or a zero byte in it",
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

/// Tables in a link that are no key of it, and not similar to one: `[link.eth0.100]` without quotes
/// is a table `100` in the link `eth0`.
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

//! `[link.DEV]`

pub(crate) mod aqm;
pub(crate) mod autorate;
pub(crate) mod burst;
pub(super) mod class;
pub(super) mod download;
mod framing;
mod horizon;
pub(super) mod matching;
pub(super) mod preset;
pub(super) mod share;
pub(crate) mod slack;
pub(super) mod tenant;

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::autorate::{ReadRange, ReadReflectors, read_link_rate, read_reflectors};
use self::class::ReadClass;
use self::preset::ReadPreset;
use self::share::bps_of;
use self::tenant::ReadTenant;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::place::Place;
use crate::read::section::{Section, in_file_order, instead, wrong_type};
use crate::source::{Source, Span};
use crate::value::{Fault, device as device_name, duration};
use crate::{Backend, BeyondHorizon, Code, Framing, OnConflict, Pacing, Packets, Sharing};

pub(in crate::read) const LINK: Schema = Schema {
    what: "link",
    place: Some(Place::Link),
    doc: "A network device; quote a name with a dot in it: [link.\"eth0.100\"]",
    keys: &[
        Key::required(
            "rate",
            Takes::Spelled(autorate::link_schema),
            "Rate of the wire, or of the slower line behind it; of a line that changes its bounds, as \
             { min, base, max }; \"line\": none, the device decides, which stops its queue",
        ),
        Key::new(
            "reflectors",
            Takes::Spelled(autorate::reflectors_schema),
            "Hosts that taktd asks for the delay of a line that changes, by their addresses",
        ),
        Key::with_default(
            "overhead",
            Takes::Integer(OVERHEAD_BYTES),
            "0",
            "Bytes per frame, beyond the Ethernet frame; 24 counts preamble, gap and FCS",
        ),
        framing::NAMED,
        framing::OF_A_FRAME,
        framing::INTO_CELLS,
        Key::with_default(
            "pacing",
            Takes::Word(&words(&PACING)),
            "\"timer\"",
            "How frames are spaced: by the qdisc's timer, by PAUSE frames of exactly the missing \
             length, or by the timer and PAUSE frames for its last microseconds",
        ),
        Key::with_default(
            "packets",
            Takes::Word(&words(&PACKETS)),
            "\"auto\"",
            "How long segments may be: as burst allows, one frame each, or without a limit",
        ),
        Key::with_default(
            "burst",
            Takes::Duration(burst::LINK_NS),
            "\"1ms\"",
            "How long a segment may occupy the link, with packets = \"auto\"; at least a frame",
        ),
        Key::with_default(
            "lag_max",
            Takes::Duration(LAG_MIN_NS..=LAG_MAX_NS),
            "\"10ms\"",
            "Lateness that a clock may catch up",
        ),
        Key::new(
            "slack",
            Takes::Duration(slack::RANGE_NS),
            "How late the timer may be, so that packets due within that time leave on one interrupt; \
             default: a hundredth of the time between full frames of the fastest class, at most \"10us\"",
        ),
        Key::with_default(
            "horizon",
            Takes::Duration(horizon::MIN_NS..=horizon::MAX_NS),
            "\"10s\"",
            "How far ahead a packet's departure time may lie",
        ),
        Key::with_default(
            "beyond_horizon",
            Takes::Word(&words(&horizon::BEYOND)),
            "\"drop\"",
            "What happens to packets beyond the horizon: dropped, or sent at the horizon's end",
        ),
        Key::with_default(
            "ecn",
            Takes::Boolean,
            "false",
            "Packets of senders that understand it are marked instead of dropped",
        ),
        Key::with_default(
            "acks",
            Takes::Word(&words(&ACKS)),
            "\"all\"",
            "Pure acknowledgements of TCP that wait: all leave, or a newer one takes the place of the \
             one before it",
        ),
        Key::new(
            "share",
            Takes::Word(&words(&SHARE)),
            "What has equal parts of a class's capacity: flows, or hosts first (those that send; of a \
             download, those that receive); default: hosts with a download, else flows",
        ),
        Key::with_default(
            "wash",
            Takes::Boolean,
            "false",
            "Packets get the DSCP 0, after they are classified, unless their class sets another",
        ),
        Key::with_default(
            "on_conflict",
            Takes::Word(&words(&ON_CONFLICT)),
            "\"report\"",
            "When another program replaces takt's qdisc: leave that and say so, or have taktd \
             attach it again",
        ),
        Key::new(
            "backend",
            Takes::Word(&Backend::NAMES),
            "What carries the link out; by default the cheapest that keeps the policy",
        ),
        Key::new(
            "preset",
            Takes::Word(&words(&preset::PRESETS)),
            "Classes voice, video, bulk and default, by DSCP as with CAKE; the link's own come first",
        ),
        Key::new(
            "tenant",
            Takes::Tables(&tenant::TENANT),
            "Links within the link, at most 63",
        ),
        Key::new(
            "class",
            Takes::Tables(&class::CLASS),
            "Kinds of traffic; classes and tenants together are at most 4094",
        ),
        Key::new(
            "download",
            Takes::Table(&download::DOWNLOAD),
            "What the device receives, as a link of its own",
        ),
    ],
};

/// The kernel has room for 4095; one is kept for the implicit default class.
const ENTITIES_MAX: usize = 4094;

const OVERHEAD_BYTES: RangeInclusive<u64> = 0..=256;
const PACING: Words<Pacing, 3> = [
    ("timer", Pacing::Timer),
    ("gap", Pacing::Gap),
    ("timer+gap", Pacing::TimerGap),
];
const PACKETS: Words<Packets, 3> = [
    ("auto", Packets::Auto),
    ("mtu", Packets::Mtu),
    ("gso", Packets::Gso),
];
/// Whether they are thinned.
const ACKS: Words<bool, 2> = [("all", false), ("thin", true)];
/// `hosts` are those behind the device: they send what leaves.
const SHARE: Words<Sharing, 4> = [
    ("flows", Sharing::Flows),
    ("hosts", Sharing::Sources),
    ("sources", Sharing::Sources),
    ("destinations", Sharing::Destinations),
];
const ON_CONFLICT: Words<OnConflict, 2> = [
    ("report", OnConflict::Report),
    ("restore", OnConflict::Restore),
];
const LAG_DEFAULT_NS: u64 = 10_000_000;
const LAG_MIN_NS: u64 = 100_000;
const LAG_MAX_NS: u64 = 1_000_000_000;

/// A link in the file's terms. Wrong values are absent, and have been reported.
pub(crate) struct ReadLink {
    pub device: String,
    pub device_span: Span,
    pub line: usize,
    pub rate_bps: Option<u64>,
    pub rate_span: Span,
    /// There is no rate: the device decides. `rate_bps` is the most that there is then.
    pub by_device: bool,
    /// Of a rate that changes; that is `rate_bps` at first.
    pub range: Option<ReadRange>,
    pub reflectors: Option<ReadReflectors>,
    pub framing: Framing,
    pub pacing: Pacing,
    pub packets: Packets,
    pub burst_ns: u64,
    pub lag_max_ns: u64,
    /// `None`: by its classes.
    pub slack_ns: Option<u64>,
    pub horizon_ns: u64,
    pub beyond_horizon: BeyondHorizon,
    pub ecn: bool,
    pub thins_acks: bool,
    pub share: Sharing,
    pub wash: bool,
    pub on_conflict: OnConflict,
    pub backend: Option<Backend>,
    /// Its own; a download may have the link's.
    pub preset: Option<ReadPreset>,
    pub tenants: Vec<ReadTenant>,
    /// Its own, and those of the preset.
    pub classes: Vec<ReadClass>,
    pub download: Option<Box<ReadLink>>,
}

impl ReadLink {
    /// The most that it may have; more than its rate on a line that changes.
    pub fn most_bps(&self) -> Option<u64> {
        match &self.range {
            Some(range) => bps_of(&range.max).or(self.rate_bps),
            None => self.rate_bps,
        }
    }
}

pub(super) fn read(
    device: &str,
    device_span: Span,
    value: &Spanned<DeValue>,
    source: &Source,
    findings: &mut Findings,
) -> Option<ReadLink> {
    let DeValue::Table(table) = value.get_ref() else {
        let fault = if LINK.has(device) {
            // [link] rate = …
            Fault::new(
                Code::WrongType,
                format!("`{device}` belongs to a device"),
                "name the device in the table's header: [link.eth0]",
            )
        } else {
            wrong_type(device, "a table", value.get_ref(), "[link.eth0]")
        };
        findings.add(fault.at(&device_span));
        return None;
    };
    if let Err(fault) = device_name::check(device) {
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
    let (rate, range) = read_link_rate(&section, findings);
    let tenants = tenant::read_all(section.get("tenant"), source, findings);
    let mut classes = class::read_all(section.get("class"), source, findings);
    let preset = preset::read(&section, findings);
    if let Some(preset) = &preset {
        let has_default = classes.iter().any(ReadClass::is_default);
        classes.extend(preset::classes(preset, bps_of(&rate), has_default, source));
    }
    check_count(&tenants, &classes, findings);
    let mut link = ReadLink {
        device: device.to_owned(),
        line: source.line(device_span.start),
        rate_bps: bps_of(&rate),
        rate_span: rate.map_or(device_span.clone(), |rate| rate.span),
        by_device: autorate::by_device(&section).is_some(),
        range,
        reflectors: read_reflectors(&section, findings),
        device_span,
        framing: framing::read(&section, findings).unwrap_or_default(),
        pacing: section
            .word("pacing", &PACING, findings)
            .unwrap_or(Pacing::Timer),
        packets: section
            .word("packets", &PACKETS, findings)
            .unwrap_or(Packets::Auto),
        burst_ns: burst::read_link_ns(&section, findings).unwrap_or(burst::DEFAULT_NS),
        lag_max_ns: read_lag(&section, findings),
        slack_ns: slack::read_ns(&section, findings),
        horizon_ns: horizon::read_ns(&section, findings),
        beyond_horizon: section
            .word("beyond_horizon", &horizon::BEYOND, findings)
            .unwrap_or(BeyondHorizon::Drop),
        ecn: section.boolean("ecn", findings).unwrap_or(false),
        thins_acks: section.word("acks", &ACKS, findings).unwrap_or(false),
        share: section.word("share", &SHARE, findings).unwrap_or({
            // A gateway divides among those behind it; a host of its own has one address.
            match section.get("download") {
                Some(_) => Sharing::Sources,
                None => Sharing::Flows,
            }
        }),
        wash: section.boolean("wash", findings).unwrap_or(false),
        on_conflict: section
            .word("on_conflict", &ON_CONFLICT, findings)
            .unwrap_or(OnConflict::Report),
        backend: read_backend(&section, findings),
        preset,
        tenants,
        classes,
        download: None,
    };
    link.download = download::read(section.get("download"), &link, source, findings).map(Box::new);
    Some(link)
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

fn read_backend(section: &Section, findings: &mut Findings) -> Option<Backend> {
    section.text("backend", "backend = \"tree\"", findings, |text| {
        let mut backends = Backend::ALL.into_iter();
        let found = backends.find(|backend| backend.name() == text);
        found.ok_or_else(|| Fault::not_a_choice("backend", text, &Backend::NAMES))
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

/// Tables in a link whose names mean no key: `[link.eth0.100]` without quotes
/// is a table `100` in the link `eth0`.
fn split_names<'a>(table: &'a DeTable<'a>) -> Vec<(&'a str, Span)> {
    in_file_order(table)
        .into_iter()
        .filter(|(key, _, value)| {
            matches!(value.get_ref(), DeValue::Table(_))
                && !LINK.has(key)
                && instead(key, &LINK).is_none()
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

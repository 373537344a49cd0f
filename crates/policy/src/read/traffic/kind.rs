//! The kinds of sources, and the keys that each has.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::Words;
use crate::read::link::share::read_rate;
use crate::read::section::{Section, missing};
use crate::source::Span;
use crate::traffic::{Connection, Control, Kind, Periods, Together};
use crate::value::Fault;
use crate::value::decimal::Decimal;

pub(super) const PACKETS: RangeInclusive<u64> = 1..=1000;
const PACKETS_DEFAULT: u32 = 8;
pub(super) const PERIOD_NS: RangeInclusive<u64> = 1_000..=3_600_000_000_000;
pub(super) const RTT_NS: RangeInclusive<u64> = 1_000..=60_000_000_000;
pub(super) const THINK_NS: RangeInclusive<u64> = 0..=3_600_000_000_000;
pub(super) const APART_NS: RangeInclusive<u64> = 0..=1_000_000_000;
pub(super) const BYTES: RangeInclusive<u64> = 1..=1 << 40;
pub(super) const SHAPE_MILLI: RangeInclusive<i64> = 1_050..=10_000;
const SHAPE_DEFAULT_MILLI: u64 = 1_500;

pub(super) const CONTROLS: Words<Control, 4> = [
    ("cubic", Control::Cubic),
    ("reno", Control::Reno),
    ("bbr", Control::Bbr),
    ("dctcp", Control::Dctcp),
];

/// A kind by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Backlog,
    Cbr,
    Poisson,
    OnOff,
    Pareto,
    Request,
    Tcp,
    Capture,
}

pub(super) const KINDS: Words<Word, 8> = [
    ("backlog", Word::Backlog),
    ("cbr", Word::Cbr),
    ("poisson", Word::Poisson),
    ("on-off", Word::OnOff),
    ("pareto", Word::Pareto),
    ("request", Word::Request),
    ("tcp", Word::Tcp),
    ("capture", Word::Capture),
];

/// The keys that only some kinds have.
const OWN_KEYS: [&str; 12] = [
    "packets", "rate", "on", "off", "shape", "rtt", "think", "control", "bytes", "together",
    "apart", "file",
];

/// What captured packets say themselves.
const CAPTURED_KEYS: [&str; 5] = ["headers", "flows", "forwarded", "ecn", "nice"];

impl Word {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Backlog => &["packets"],
            Self::Cbr | Self::Poisson => &["rate"],
            Self::OnOff => &["rate", "on", "off"],
            Self::Pareto => &["rate", "on", "off", "shape"],
            Self::Request => &["rtt", "think"],
            Self::Tcp => &["rtt", "think", "control", "bytes", "together", "apart"],
            Self::Capture => &["file"],
        }
    }

    fn name(self) -> &'static str {
        let named = KINDS.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| name)
    }
}

/// The kind of a source with its terms; `None` if something was reported.
pub(super) fn read(
    section: &Section,
    start: &Span,
    frame: Option<u64>,
    findings: &mut Findings,
) -> Option<Kind> {
    let Some(word) = section.word("kind", &KINDS, findings) else {
        if section.get("kind").is_none() {
            findings.add(missing("a source", "kind", "kind = \"cbr\"").at(start, ""));
        }
        return None;
    };
    for key in OWN_KEYS.iter().filter(|key| !word.keys().contains(key)) {
        refuse_foreign(section, key, word, findings);
    }
    if word == Word::Capture {
        refuse_captured(section, findings);
    }
    let think_ns = ns(section, "think", "100ms", THINK_NS, findings).unwrap_or(0);
    match word {
        Word::Backlog => Some(Kind::Backlog {
            packets: section
                .integer("packets", PACKETS, findings)
                .map_or(PACKETS_DEFAULT, |packets| packets as u32),
        }),
        Word::Cbr => Some(Kind::Cbr {
            rate_bps: rate(section, start, findings)?,
        }),
        Word::Poisson => Some(Kind::Poisson {
            rate_bps: rate(section, start, findings)?,
        }),
        Word::OnOff | Word::Pareto => read_periods(section, word, start, findings),
        Word::Request => Some(Kind::Request {
            rtt_ns: required(section, "rtt", "20ms", RTT_NS, start, findings)?,
            think_ns,
        }),
        Word::Tcp => Some(Kind::Tcp(Connection {
            control: section
                .word("control", &CONTROLS, findings)
                .unwrap_or(Control::Cubic),
            rtt_ns: required(section, "rtt", "20ms", RTT_NS, start, findings)?,
            transfer_bytes: section.integer("bytes", BYTES, findings),
            think_ns,
            together: read_together(section, findings),
        })),
        Word::Capture => Some(Kind::Capture {
            file: read_file(section, start, findings)?,
            frame_bytes: frame.map(|bytes| bytes as u32),
        }),
    }
}

/// Only transfers that end are waited for.
fn read_together(section: &Section, findings: &mut Findings) -> Option<Together> {
    let is_together = section.boolean("together", findings).unwrap_or_default();
    let apart_ns = ns(section, "apart", "10us", APART_NS, findings).unwrap_or(0);
    if is_together && section.get("bytes").is_none() {
        let help = "say how long a transfer is, such as bytes = 64000, or take it out";
        refuse_without(section, "together", "bytes", help, findings);
    }
    if !is_together {
        let help = "set together = true, or take it out";
        refuse_without(section, "apart", "together", help, findings);
    }
    is_together.then_some(Together { apart_ns })
}

fn refuse_without(section: &Section, key: &str, other: &str, help: &str, findings: &mut Findings) {
    if let Some(field) = section.get(key) {
        let problem = format!("`{key}` does nothing without `{other}`");
        let error = Diagnostic::error(Code::IdleKey, problem, help);
        findings.add(error.at(&field.span, "for nothing"));
    }
}

fn read_file(section: &Section, start: &Span, findings: &mut Findings) -> Option<PathBuf> {
    const EXAMPLE: &str = "trace.pcapng";
    if section.get("file").is_none() {
        let example = format!("file = \"{EXAMPLE}\"");
        findings.add(missing("a source of this kind", "file", &example).at(start, ""));
    }
    section.path("file", EXAMPLE, findings)
}

fn read_periods(
    section: &Section,
    word: Word,
    start: &Span,
    findings: &mut Findings,
) -> Option<Kind> {
    let shape = section.number("shape", "shape = 1.5", findings, parse_shape);
    let rate_bps = rate(section, start, findings);
    let on_ns = required(section, "on", "100ms", PERIOD_NS, start, findings);
    let off_ns = required(section, "off", "100ms", PERIOD_NS, start, findings);
    Some(Kind::OnOff(Periods {
        rate_bps: rate_bps?,
        on_ns: on_ns?,
        off_ns: off_ns?,
        shape_milli: (word == Word::Pareto).then(|| shape.unwrap_or(SHAPE_DEFAULT_MILLI)),
    }))
}

fn rate(section: &Section, start: &Span, findings: &mut Findings) -> Option<u64> {
    let Some(rate) = read_rate(section, "rate", findings) else {
        findings.add(missing("a source of this kind", "rate", "rate = \"10mbit\"").at(start, ""));
        return None;
    };
    rate.bps
}

fn ns(
    section: &Section,
    key: &str,
    example: &str,
    range_ns: RangeInclusive<u64>,
    findings: &mut Findings,
) -> Option<u64> {
    let (ns, _) = section.duration(key, example, range_ns, findings)?;
    Some(ns)
}

fn required(
    section: &Section,
    key: &str,
    example: &str,
    range_ns: RangeInclusive<u64>,
    start: &Span,
    findings: &mut Findings,
) -> Option<u64> {
    if section.get(key).is_none() {
        let example = format!("{key} = \"{example}\"");
        findings.add(missing("a source of this kind", key, &example).at(start, ""));
    }
    ns(section, key, example, range_ns, findings)
}

fn refuse_foreign(section: &Section, key: &str, word: Word, findings: &mut Findings) {
    let Some(field) = section.get(key) else {
        return;
    };
    let kinds = KINDS.iter().filter(|(_, kind)| kind.keys().contains(&key));
    let kinds: Vec<String> = kinds.map(|(name, _)| format!("\"{name}\"")).collect();
    let error = Diagnostic::error(
        Code::IdleKey,
        format!("`{key}` does nothing for kind = \"{}\"", word.name()),
        format!("take it out, or set kind to {}", kinds.join(" or ")),
    );
    findings.add(error.at(&field.span, "for nothing"));
}

fn refuse_captured(section: &Section, findings: &mut Findings) {
    for field in CAPTURED_KEYS.iter().filter_map(|key| section.get(key)) {
        let error = Diagnostic::error(
            Code::IdleKey,
            format!("`{}` does nothing for kind = \"capture\"", field.key),
            "take it out: captured packets say it themselves, and come from other hosts",
        );
        findings.add(error.at(&field.span, "for nothing"));
    }
}

/// Pareto's shape times 1000. At 1 and below the mean is infinite.
fn parse_shape(text: &str) -> Result<u64, Fault> {
    const HELP: &str = "shape is a number from 1.05 to 10, such as shape = 1.5";
    let milli = match Decimal::split(text) {
        Some((number, "")) => number.times(1000),
        _ => 0,
    };
    if i64::try_from(milli).is_ok_and(|milli| SHAPE_MILLI.contains(&milli)) {
        Ok(milli)
    } else {
        let problem = format!("the shape {text} is out of range");
        Err(Fault::new(Code::OutOfRange, problem, HELP))
    }
}

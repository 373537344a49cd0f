//! `aqm`, `target` and `interval` of a class.

use crate::findings::Findings;
use crate::read::keys::Words;
use crate::read::section::Section;
use crate::source::Span;
use crate::value::{Fault, duration};
use crate::{AqmKind, Code};

pub(super) const KINDS: Words<AqmKind, 3> = [
    ("fq_codel", AqmKind::FqCodel),
    ("codel", AqmKind::Codel),
    ("off", AqmKind::Off),
];

pub(super) const TARGET_MIN_NS: u64 = 10_000;
pub(super) const INTERVAL_MIN_NS: u64 = 100_000;
pub(crate) const MAX_NS: u64 = 4_000_000_000;

/// What the class says of it. Wrong values are absent, and have been reported.
#[derive(Default)]
pub(crate) struct ReadAqm {
    /// Its value and position.
    pub kind: Option<(AqmKind, Span)>,
    pub target_ns: Option<u32>,
    pub interval_ns: Option<u32>,
}

pub(super) fn read(section: &Section, findings: &mut Findings) -> ReadAqm {
    ReadAqm {
        kind: read_kind(section, findings),
        target_ns: read_duration(
            section,
            "target",
            TARGET_MIN_NS,
            "target goes from \"10us\" to \"4s\"; the default is \"5ms\"",
            findings,
        ),
        interval_ns: read_duration(
            section,
            "interval",
            INTERVAL_MIN_NS,
            "interval goes from \"100us\" to \"4s\"; the default is \"100ms\"",
            findings,
        ),
    }
}

fn read_kind(section: &Section, findings: &mut Findings) -> Option<(AqmKind, Span)> {
    let span = section.get("aqm")?.span;
    Some((section.word("aqm", &KINDS, findings)?, span))
}

fn read_duration(
    section: &Section,
    key: &'static str,
    min_ns: u64,
    help: &'static str,
    findings: &mut Findings,
) -> Option<u32> {
    let example = help.split(';').next().unwrap_or(help);
    section.text(key, example, findings, |text| {
        let ns = duration::parse_ns(text)?;
        if (min_ns..=MAX_NS).contains(&ns) {
            Ok(ns as u32)
        } else {
            Err(Fault::new(
                Code::OutOfRange,
                format!("{key} `{text}` is out of range"),
                help,
            ))
        }
    })
}

//! `[[link.DEV.class]]`

use std::ops::RangeInclusive;

use toml::de::DeTable;

use super::aqm::{self, ReadAqm};
use super::burst;
use super::matching::{self, ReadMatch};
use super::share::{self, ReadShare};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::place::Place;
use crate::read::section::{Field, Section, tables};
use crate::source::{Source, Span};
use crate::value::{dscp, name, rate};
use crate::{Code, DEFAULT_CLASS, Gate};

pub(in crate::read) const CLASS: Schema = Schema {
    what: "class",
    place: Some(Place::Class),
    doc: "Traffic of one kind",
    keys: &[
        Key::required(
            "name",
            Takes::Spelled(name::schema),
            "Name of the class; \"default\" takes what no other class matches",
        ),
        Key::new(
            "match",
            Takes::OneOrMore(&matching::MATCH),
            "Packets of the class; any match is enough, and the first class in the file that \
             matches wins",
        ),
        Key::new(
            "tenant",
            Takes::Spelled(name::schema),
            "The tenant with which it shares a guarantee and a ceiling",
        ),
        Key::new(
            "rate",
            Takes::Spelled(rate::schema),
            "Guaranteed, and the pace unless ceil is higher",
        ),
        Key::new(
            "ceil",
            Takes::Spelled(rate::schema),
            "May borrow up to this; default: rate, without it only the tenant or the link limits \
             it",
        ),
        share::WEIGHT,
        Key::new(
            "floor",
            Takes::Spelled(rate::schema),
            "Served before all priorities, so that a low one does not starve; up to ceil",
        ),
        share::PRIORITY,
        Key::with_default(
            "per_flow",
            Takes::Boolean,
            "false",
            "Every flow has clocks and a queue of its own; rate, ceil, weight, floor and \
             queue_packets are then each flow's",
        ),
        Key::new(
            "queue_packets",
            Takes::Integer(QUEUE_PACKETS),
            "A packet beyond this is dropped; default: 1000, 4000 where flows take turns, 100 with \
             per_flow or stations",
        ),
        Key::new(
            "burst",
            Takes::Duration(burst::CLASS_NS),
            "How long a segment may occupy the pace of the class, or of a flow; default: the \
             link's",
        ),
        Key::new(
            "aqm",
            Takes::Word(&words(&aqm::KINDS)),
            "How its queues are kept short; the default depends on rate and ceil",
        ),
        Key::new(
            "target",
            Takes::Duration(aqm::TARGET_MIN_NS..=aqm::MAX_NS),
            "Delay that a queue may have for longer than interval (RFC 8289, section 4.4); default: \
             \"5ms\", or one and a half full frames at the class's highest rate",
        ),
        Key::new(
            "interval",
            Takes::Duration(aqm::INTERVAL_MIN_NS..=aqm::MAX_NS),
            "An acceptable round trip (RFC 8289, section 4.3); default: \"95ms\" more than the \
             default of target",
        ),
        Key::new(
            "gate",
            Takes::Word(&words(&GATE)),
            "Only with priority = \"background\": blocked while the CPU runs a task that is more \
             important than the sender (default), or never",
        ),
        Key::new(
            "receive",
            Takes::Boolean,
            "Only with priority = \"background\": incoming packets of the class wait, too \
             (default)",
        ),
        Key::new(
            "set_dscp",
            Takes::Spelled(dscp::schema),
            "The DSCP that its packets get, after they are classified: a number or a name; default: \
             the one they have, or with the link's wash = true 0",
        ),
        Key::with_default(
            "best_effort",
            Takes::Boolean,
            "false",
            "The class may be carried out by a backend that does not keep all of it",
        ),
    ],
};

const QUEUE_PACKETS: RangeInclusive<u64> = 1..=u16::MAX as u64;
const GATE: Words<Gate, 2> = [("sender", Gate::Sender), ("open", Gate::Open)];

const EXAMPLE: &str = "[[link.eth0.class]], with two brackets";

/// A class in the file's terms. Wrong values are absent, and have been reported.
pub(crate) struct ReadClass {
    pub name: Option<String>,
    /// Where the class is named, or where it starts.
    pub span: Span,
    pub line: usize,
    /// Whether a preset brings it.
    pub is_of_preset: bool,
    /// The name of its tenant, and where it is named.
    pub tenant: Option<(String, Span)>,
    pub share: ReadShare,
    pub per_flow: bool,
    pub queue_packets: Option<u16>,
    pub burst_ns: Option<u64>,
    pub aqm: ReadAqm,
    /// Its value and position.
    pub gate: Option<(Gate, Span)>,
    /// Its value and position.
    pub receive: Option<(bool, Span)>,
    pub set_dscp: Option<u8>,
    pub best_effort: bool,
    pub matches: Vec<ReadMatch>,
}

impl ReadClass {
    pub fn is_default(&self) -> bool {
        self.name.as_deref() == Some(DEFAULT_CLASS)
    }

    /// For messages.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or("?")
    }
}

pub(super) fn read_all(
    classes: Option<Field>,
    source: &Source,
    findings: &mut Findings,
) -> Vec<ReadClass> {
    tables(classes, EXAMPLE, findings)
        .into_iter()
        .map(|(table, span)| read(table, span, source, findings))
        .collect()
}

fn read(table: &DeTable, span: Span, source: &Source, findings: &mut Findings) -> ReadClass {
    let section = Section::open(table, &CLASS, findings);
    let line = source.line(span.start);
    let (name, span) = section.name(CLASS.what, "web", span, findings);
    let class = ReadClass {
        name,
        span,
        line,
        is_of_preset: false,
        tenant: read_tenant(&section, findings),
        share: share::read(&section, findings),
        per_flow: section.boolean("per_flow", findings).unwrap_or(false),
        queue_packets: section
            .integer("queue_packets", QUEUE_PACKETS, findings)
            .map(|packets| packets as u16),
        burst_ns: burst::read_class_ns(&section, findings),
        aqm: aqm::read(&section, findings),
        gate: read_gate(&section, findings),
        receive: read_receive(&section, findings),
        set_dscp: section.text_or_integer("set_dscp", "set_dscp = \"ef\"", findings, dscp::parse),
        best_effort: section.boolean("best_effort", findings).unwrap_or(false),
        matches: matching::read_all(section.get("match"), findings),
    };
    check_match_presence(&class, &section, findings);
    class
}

/// Whether such a tenant exists is checked later.
fn read_tenant(section: &Section, findings: &mut Findings) -> Option<(String, Span)> {
    let span = section.get("tenant")?.span;
    let name = section.text("tenant", "tenant = \"acme\"", findings, |text| {
        Ok(text.to_owned())
    })?;
    Some((name, span))
}

fn read_gate(section: &Section, findings: &mut Findings) -> Option<(Gate, Span)> {
    let span = section.get("gate")?.span;
    Some((section.word("gate", &GATE, findings)?, span))
}

fn read_receive(section: &Section, findings: &mut Findings) -> Option<(bool, Span)> {
    let span = section.get("receive")?.span;
    Some((section.boolean("receive", findings)?, span))
}

fn check_match_presence(class: &ReadClass, section: &Section, findings: &mut Findings) {
    match section.get("match") {
        Some(field) if class.is_default() => {
            let error = Diagnostic::error(
                Code::DefaultMatch,
                "the class \"default\" takes what no other class matches, so it has no match",
                "take the match out, or give the class another name",
            );
            findings.add(error.at(&field.span, "not in the default class"));
        }
        None if !class.is_default() => {
            let error = Diagnostic::error(
                Code::MissingKey,
                format!(
                    "class `{}` does not say which traffic it takes",
                    class.shown_name()
                ),
                "add a match, such as match = { proto = \"udp\", dst_port = \"5004-5100\" }; only \
                 the class named \"default\" has none",
            );
            findings.add(error.at(&class.span, "has no match"));
        }
        _ => {}
    }
}

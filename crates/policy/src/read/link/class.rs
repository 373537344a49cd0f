//! `[[link.DEV.class]]`

use toml::de::DeTable;

use super::aqm::{self, ReadAqm};
use super::matching::{self, ReadMatch};
use super::share::{self, ReadShare};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::section::{Field, Schema, Section, tables};
use crate::source::{Source, Span};
use crate::value::Fault;
use crate::{Code, DEFAULT_CLASS, Gate};

const CLASS: Schema = Schema {
    what: "class",
    keys: &[
        "name",
        "match",
        "tenant",
        "rate",
        "ceil",
        "weight",
        "floor",
        "priority",
        "per_flow",
        "queue_packets",
        "aqm",
        "target",
        "interval",
        "gate",
        "receive",
        "best_effort",
    ],
};

const EXAMPLE: &str = "[[link.eth0.class]], with two brackets";

/// A class in the file's terms. Wrong values are absent, and have been reported.
pub(crate) struct ReadClass {
    pub name: Option<String>,
    /// Where the class is named, or where it starts.
    pub span: Span,
    pub line: usize,
    /// The name of its tenant, and where it is named.
    pub tenant: Option<(String, Span)>,
    pub share: ReadShare,
    pub per_flow: bool,
    pub queue_packets: Option<u16>,
    pub aqm: ReadAqm,
    /// Its value and position.
    pub gate: Option<(Gate, Span)>,
    /// Its value and position.
    pub receive: Option<(bool, Span)>,
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
        tenant: read_tenant(&section, findings),
        share: share::read(&section, findings),
        per_flow: section.boolean("per_flow", findings).unwrap_or(false),
        queue_packets: section
            .integer("queue_packets", 1..=u64::from(u16::MAX), findings)
            .map(|packets| packets as u16),
        aqm: aqm::read(&section, findings),
        gate: read_gate(&section, findings),
        receive: read_receive(&section, findings),
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
    let gate = section.text("gate", "gate = \"open\"", findings, |text| match text {
        "sender" => Ok(Gate::Sender),
        "open" => Ok(Gate::Open),
        _ => Err(Fault::not_a_choice("gate", text, &["sender", "open"])),
    })?;
    Some((gate, span))
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

//! `match = { … }`, or an array of them.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::section::{Field, Schema, Section, wrong_type};
use crate::source::Span;
use crate::value::{Fault, dscp, mark, owner, ports, prefix, proto};
use crate::{Code, Family, Match};

const MATCH: Schema = Schema {
    what: "match",
    keys: &[
        "proto",
        "family",
        "src",
        "dst",
        "src_port",
        "dst_port",
        "dscp",
        "mark",
        "app",
        "user",
        "cgroup",
        "unit",
        "registered",
    ],
};

const EXAMPLE: &str = "match = [{ proto = \"tcp\", dst_port = 443 }]";

/// One entry and its position.
pub(crate) struct ReadMatch {
    pub terms: Match,
    pub span: Span,
}

pub(super) fn read_all(field: Option<Field>, findings: &mut Findings) -> Vec<ReadMatch> {
    let Some(field) = field else {
        return Vec::new();
    };
    match field.value {
        DeValue::Table(table) => read(table, &field.span, findings).into_iter().collect(),
        DeValue::Array(array) if array.is_empty() => {
            findings.add(nothing_matched(&field.span));
            Vec::new()
        }
        DeValue::Array(array) => array
            .iter()
            .filter_map(|entry| read_entry(entry, findings))
            .collect(),
        _ => {
            let fault = field.wrong_type("a table or a list of tables", EXAMPLE);
            findings.add(fault.at(&field.span));
            Vec::new()
        }
    }
}

fn read_entry(entry: &Spanned<DeValue>, findings: &mut Findings) -> Option<ReadMatch> {
    match entry.get_ref() {
        DeValue::Table(table) => read(table, &entry.span(), findings),
        other => {
            let fault = wrong_type("match", "a table or a list of tables", other, EXAMPLE);
            findings.add(fault.at(&entry.span()));
            None
        }
    }
}

/// `None` if a term could not be read: without it the entry would have another meaning.
fn read(table: &DeTable, span: &Span, findings: &mut Findings) -> Option<ReadMatch> {
    if table.is_empty() {
        findings.add(nothing_matched(span));
        return None;
    }
    let section = Section::open(table, &MATCH, findings);
    let terms = Match {
        family: section.text("family", "family = \"ipv6\"", findings, parse_family),
        proto: section.text_or_integer("proto", "proto = \"udp\"", findings, proto::parse),
        src: section.text("src", "src = \"192.0.2.0/24\"", findings, prefix::parse),
        dst: section.text("dst", "dst = \"192.0.2.0/24\"", findings, prefix::parse),
        src_ports: section
            .text_or_integer(
                "src_port",
                "src_port = \"5004-5100\"",
                findings,
                ports::parse,
            )
            .unwrap_or_default(),
        dst_ports: section
            .text_or_integer(
                "dst_port",
                "dst_port = \"5004-5100\"",
                findings,
                ports::parse,
            )
            .unwrap_or_default(),
        dscp: section.text_or_integer("dscp", "dscp = \"ef\"", findings, dscp::parse),
        mark: section.text_or_integer("mark", "mark = \"0x10/0xff\"", findings, mark::parse),
        app: section.text("app", "app = \"iperf3\"", findings, |text| {
            owner::parse_comm("app", text)
        }),
        user: section.text_or_integer("user", "user = \"alice\"", findings, owner::parse_user),
        cgroup: section.text(
            "cgroup",
            "cgroup = \"backup.slice\"",
            findings,
            owner::parse_cgroup,
        ),
        unit: section.text(
            "unit",
            "unit = \"nginx.service\"",
            findings,
            owner::parse_unit,
        ),
        registered: read_registered(&section, findings),
    };
    (count_terms(&terms) == table.len()).then(|| ReadMatch {
        terms,
        span: span.clone(),
    })
}

fn count_terms(terms: &Match) -> usize {
    [
        terms.family.is_some(),
        terms.proto.is_some(),
        terms.src.is_some(),
        terms.dst.is_some(),
        !terms.src_ports.is_empty(),
        !terms.dst_ports.is_empty(),
        terms.dscp.is_some(),
        terms.mark.is_some(),
        terms.app.is_some(),
        terms.user.is_some(),
        terms.cgroup.is_some(),
        terms.unit.is_some(),
        terms.registered,
    ]
    .into_iter()
    .filter(|present| *present)
    .count()
}

/// `false` is refused: other classes take traffic that is not registered.
fn read_registered(section: &Section, findings: &mut Findings) -> bool {
    match section.boolean("registered", findings) {
        Some(false) => {
            if let Some(field) = section.get("registered") {
                let fault = Fault::new(
                    Code::BadOwner,
                    "`registered` can only be true",
                    "leave it out: what no other class matches goes to the class \"default\"",
                );
                findings.add(fault.at(&field.span));
            }
            false
        }
        read => read.unwrap_or_default(),
    }
}

fn parse_family(text: &str) -> Result<Family, Fault> {
    match text {
        "ipv4" => Ok(Family::Ipv4),
        "ipv6" => Ok(Family::Ipv6),
        _ => Err(Fault::not_a_choice("family", text, &["ipv4", "ipv6"])),
    }
}

fn nothing_matched(span: &Span) -> Diagnostic {
    Diagnostic::error(
        Code::MissingKey,
        "an empty match says nothing about which traffic it takes",
        format!(
            "give it at least one of {}; what no class matches goes to the class \"default\"",
            MATCH.keys.join(", ")
        ),
    )
    .at(span, "empty")
}

//! `match = { … }`, or an array of them.

use serde_json::{Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::place::Place;
use crate::read::section::{Field, Section, wrong_type};
use crate::source::Span;
use crate::value::{Fault, dscp, mark, owner, ports, prefix, proto};
use crate::{Code, Family, Match};

pub(in crate::read) const MATCH: Schema = Schema {
    what: "match",
    place: Some(Place::Match),
    doc: "Which packets; all keys have to hold",
    keys: &[
        Key::new(
            "proto",
            Takes::Spelled(proto::schema),
            "The protocol behind IPv6 extension headers: a number or a name",
        ),
        Key::new(
            "family",
            Takes::Word(&words(&FAMILY)),
            "Packets of this family; addresses and icmp imply it",
        ),
        Key::new(
            "src",
            Takes::Spelled(prefix::schema),
            "The source: an address or a prefix",
        ),
        Key::new(
            "dst",
            Takes::Spelled(prefix::schema),
            "The destination: an address or a prefix",
        ),
        Key::new(
            "src_port",
            Takes::Spelled(ports::schema),
            "Source ports of tcp, udp, udplite, sctp and dccp, unless proto says which: 443, \
             \"5004-5100\", \"80,443,8000-8100\"",
        ),
        Key::new(
            "dst_port",
            Takes::Spelled(ports::schema),
            "Destination ports of tcp, udp, udplite, sctp and dccp, unless proto says which: 443, \
             \"5004-5100\", \"80,443,8000-8100\"",
        ),
        Key::new(
            "dscp",
            Takes::Spelled(dscp::schema),
            "0 to 63, or a name such as \"ef\"",
        ),
        Key::new(
            "mark",
            Takes::Spelled(mark::schema),
            "The firewall's mark, under a mask: 16, \"0x10\", \"0x10/0xff\"",
        ),
        Key::new(
            "app",
            Takes::Spelled(owner::comm_schema),
            "Packets of sockets whose thread or process has this name, as `ps -o comm` shows it",
        ),
        Key::new(
            "user",
            Takes::Spelled(owner::user_schema),
            "Packets of this user's sockets; names are resolved when the policy is applied",
        ),
        Key::new(
            "cgroup",
            Takes::Spelled(owner::cgroup_schema),
            "Packets of sockets in this control group or below it; a path of at most 32 groups \
             from the root of cgroup2",
        ),
        Key::new(
            "unit",
            Takes::Spelled(owner::unit_schema),
            "Packets of sockets in this systemd unit; with its ending",
        ),
        Key::new(
            "registered",
            Takes::Spelled(registered_schema),
            "Packets that `takt background add` or `takt run --background` registered",
        ),
    ],
};

const FAMILY: Words<Family, 2> = [("ipv4", Family::Ipv4), ("ipv6", Family::Ipv6)];

fn registered_schema() -> Value {
    json!({"const": true})
}

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
        DeValue::Table(table) => read(table, &MATCH, &field.span, findings)
            .into_iter()
            .collect(),
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
        DeValue::Table(table) => read(table, &MATCH, &entry.span(), findings),
        other => {
            let fault = wrong_type("match", "a table or a list of tables", other, EXAMPLE);
            findings.add(fault.at(&entry.span()));
            None
        }
    }
}

/// `None` if a term could not be read: without it the entry would have another meaning.
pub(in crate::read) fn read(
    table: &DeTable,
    schema: &Schema,
    span: &Span,
    findings: &mut Findings,
) -> Option<ReadMatch> {
    if table.is_empty() {
        findings.add(nothing_matched(span));
        return None;
    }
    let section = Section::open(table, schema, findings);
    let terms = Match {
        family: section.word("family", &FAMILY, findings),
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

fn nothing_matched(span: &Span) -> Diagnostic {
    Diagnostic::error(
        Code::MissingKey,
        "an empty match says nothing about which traffic it takes",
        format!(
            "give it at least one of {}; what no class matches goes to the class \"default\"",
            MATCH.list()
        ),
    )
    .at(span, "empty")
}

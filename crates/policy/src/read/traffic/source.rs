//! `[[source]]`

use std::ops::RangeInclusive;

use toml::de::{DeTable, DeValue};

use super::{kind, task};
use crate::Code;
use crate::check::complete;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::link::matching;
use crate::read::section::{Section, tables};
use crate::source::Span;
use crate::traffic::{Ecn, FLOWS_MAX, Kind, Source};
use crate::value::{name, path, rate};
use crate::{Match, traffic::Named};

const FLOWS: RangeInclusive<u64> = 1..=FLOWS_MAX;
const FRAME_BYTES: RangeInclusive<u64> = 60..=9_216;
const FRAME_DEFAULT: u32 = 1_514;
const TIME_NS: RangeInclusive<u64> = 0..=86_400_000_000_000;

const ECN: Words<Ecn, 3> = [("no", Ecn::Not), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1)];

pub(super) const SOURCE: Schema = Schema {
    what: "source",
    place: None,
    doc: "Flows that send",
    keys: &[
        Key::required("name", Takes::Spelled(name::schema), "The name in outputs"),
        Key::required(
            "kind",
            Takes::Word(&words(&kind::KINDS)),
            "When packets come",
        ),
        Key::new(
            "headers",
            Takes::Table(&HEADERS),
            "What the packets' headers say and whose they are; of a range, each flow has one",
        ),
        Key::with_default("flows", Takes::Integer(FLOWS), "1", "How many flows"),
        Key::with_default(
            "start",
            Takes::Duration(TIME_NS),
            "\"0ns\"",
            "They begin then",
        ),
        Key::new(
            "stop",
            Takes::Duration(TIME_NS),
            "They send nothing from then on",
        ),
        Key::with_default(
            "frame",
            Takes::Integer(FRAME_BYTES),
            "1514",
            "A packet's Ethernet frame in bytes, without checksum; of a capture, what longer TCP \
             packets are split into",
        ),
        Key::with_default(
            "forwarded",
            Takes::Boolean,
            "false",
            "Packets come from other hosts, and no socket of this one is pushed back",
        ),
        Key::with_default("ecn", Takes::Word(&words(&ECN)), "\"no\"", "The ECN field"),
        task::NICE_KEY,
        Key::new(
            "packets",
            Takes::Integer(kind::PACKETS),
            "Of a backlog, for each flow",
        ),
        Key::new(
            "rate",
            Takes::Spelled(rate::schema),
            "Of each flow, as the link counts",
        ),
        Key::new(
            "on",
            Takes::Duration(kind::PERIOD_NS),
            "The mean period of sending",
        ),
        Key::new("off", Takes::Duration(kind::PERIOD_NS), "The mean pause"),
        Key::with_default(
            "shape",
            Takes::Number(kind::SHAPE_MILLI, 1000),
            "1.5",
            "Of Pareto's distribution of periods",
        ),
        Key::new(
            "rtt",
            Takes::Duration(kind::RTT_NS),
            "The round trip without queues",
        ),
        Key::with_default(
            "think",
            Takes::Duration(kind::THINK_NS),
            "\"0ns\"",
            "The mean pause after a transfer or an answer",
        ),
        Key::with_default(
            "control",
            Takes::Word(&words(&kind::CONTROLS)),
            "\"cubic\"",
            "The congestion control",
        ),
        Key::new(
            "bytes",
            Takes::Integer(kind::BYTES),
            "Of a transfer; default: no end",
        ),
        Key::with_default(
            "together",
            Takes::Boolean,
            "false",
            "The flows' next transfers begin when the last ones of all have arrived",
        ),
        Key::with_default(
            "apart",
            Takes::Duration(kind::APART_NS),
            "\"0ns\"",
            "Of flows that begin together: how much later each begins than the one before it",
        ),
        Key::new(
            "file",
            Takes::Spelled(path::schema),
            "A capture, in pcap or pcapng; a relative path starts at this file",
        ),
    ],
};

/// Advice of a match is about a policy.
const HEADERS: Schema = Schema {
    place: None,
    ..matching::MATCH
};

pub(super) fn read_all(file: &Section, findings: &mut Findings) -> Vec<Source> {
    let tables = tables(file.get("source"), "[[source]]", findings);
    let mut sources: Vec<Source> = Vec::new();
    let mut flows = 0;
    for (table, span) in tables {
        let Some((source, named_at)) = read(table, span, findings) else {
            continue;
        };
        let named = Named {
            name: &source.name,
            span: named_at,
        };
        refuse_twice(&sources, &named, findings);
        flows += u64::from(source.flows);
        if flows > FLOWS_MAX {
            let error = Diagnostic::error(
                Code::OutOfRange,
                format!("the file has more than {FLOWS_MAX} flows"),
                "let fewer flows send more each",
            );
            findings.add(error.at(&named.span, "one too many"));
            return sources;
        }
        sources.push(source);
    }
    sources
}

fn refuse_twice(sources: &[Source], named: &Named, findings: &mut Findings) {
    if sources.iter().any(|source| source.name == named.name) {
        let error = Diagnostic::error(
            Code::BadName,
            format!("two sources are called `{}`", named.name),
            "give each a name of its own: figures are shown by it",
        );
        findings.add(error.at(&named.span, "again"));
    }
}

/// A source, and where it is named.
fn read(table: &DeTable, span: Span, findings: &mut Findings) -> Option<(Source, Span)> {
    let section = Section::open(table, &SOURCE, findings);
    let (name, named_at) = section.name("source", "stream", span.clone(), findings);
    let frame = section.integer("frame", FRAME_BYTES, findings);
    let kind = kind::read(&section, &span, frame, findings);
    let (start_ns, stop_ns) = read_times(&section, findings);
    let headers = read_headers(&section, findings);
    let flows = section.integer("flows", FLOWS, findings);
    let is_forwarded = section.boolean("forwarded", findings).unwrap_or_default();
    let ecn = section.word("ecn", &ECN, findings).unwrap_or_default();
    let nice = task::read_nice(&section, findings);
    if is_forwarded {
        section.refuse_idle("nice", "a sender on this host", findings);
    }
    let (name, kind) = (name?, kind?);
    let source = Source {
        name,
        headers,
        flows: flows.map_or(1, |flows| flows as u32),
        start_ns,
        stop_ns,
        frame_bytes: frame.map_or(FRAME_DEFAULT, |bytes| bytes as u32),
        is_forwarded: is_forwarded || matches!(kind, Kind::Capture { .. }),
        ecn,
        nice: nice.unwrap_or_default(),
        kind,
    };
    Some((with_protocol(source), named_at))
}

fn read_times(section: &Section, findings: &mut Findings) -> (u64, Option<u64>) {
    let start = section.duration("start", "1s", TIME_NS, findings);
    let start_ns = start.map_or(0, |(ns, _)| ns);
    let Some((stop_ns, span)) = section.duration("stop", "5s", TIME_NS, findings) else {
        return (start_ns, None);
    };
    if stop_ns <= start_ns {
        let error = Diagnostic::error(
            Code::OutOfRange,
            "a source stops before it starts",
            "let stop be later than start",
        );
        findings.add(error.at(&span, "too early"));
    }
    (start_ns, Some(stop_ns))
}

fn read_headers(section: &Section, findings: &mut Findings) -> Match {
    let Some(field) = section.get("headers") else {
        return Match::default();
    };
    let DeValue::Table(table) = field.value else {
        let example = "headers = { proto = \"udp\", dst_port = 5004 }";
        findings.add(field.wrong_type("a table", example).at(&field.span));
        return Match::default();
    };
    let Some(mut read) = matching::read(table, &HEADERS, &field.span, findings) else {
        return Match::default();
    };
    let completed = complete(&mut read.terms).map(|()| read.terms);
    field.settle(completed, findings).unwrap_or_default()
}

/// Packets have a protocol: TCP's for a window, else UDP's.
fn with_protocol(mut source: Source) -> Source {
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    let usual = match source.kind {
        Kind::Tcp { .. } => TCP,
        _ => UDP,
    };
    source.headers.proto.get_or_insert(usual);
    source
}

//! `[link.DEV.download]`: what the device receives. It is read as a link of its own.

use toml::de::DeValue;

use super::class::{self, CLASS};
use super::share::{bps_of, read_rate};
use super::tenant::{self, TENANT};
use super::{OVERHEAD_BYTES, ReadLink, check_count, read_backend};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes};
use crate::read::place::Place;
use crate::read::section::{Field, Section, wrong_type};
use crate::source::Source;
use crate::value::{device, rate};
use crate::{Code, Pacing};

pub(in crate::read) const DOWNLOAD: Schema = Schema {
    what: "download",
    place: Some(Place::Download),
    doc: "What the device receives, as a link of its own; without classes it has those of the link, \
          with source and destination exchanged",
    keys: &[
        Key::required(
            "rate",
            Takes::Spelled(rate::schema),
            "Rate of the line in this direction; a little below it, so that packets wait here and \
             not before the line",
        ),
        Key::new(
            "overhead",
            Takes::Integer(OVERHEAD_BYTES),
            "Bytes per frame, beyond the Ethernet frame; default: the link's",
        ),
        Key::new(
            "ecn",
            Takes::Boolean,
            "Packets of senders that understand it are marked instead of dropped; default: the \
             link's",
        ),
        Key::new(
            "backend",
            Takes::Word(&BACKENDS),
            "What carries it out; by default the cheapest that keeps the policy",
        ),
        Key::new(
            "tenant",
            Takes::Tables(&TENANT),
            "Links within the download, at most 63",
        ),
        Key::new(
            "class",
            Takes::Tables(&CLASS),
            "Kinds of traffic, matched as the packets come in; default: the link's classes",
        ),
    ],
};

/// Those that carry out downloads.
const BACKENDS: [&str; 2] = ["takt", "tree"];

/// The download of this link, which has been read.
pub(super) fn read(
    field: Option<Field>,
    of: &ReadLink,
    source: &Source,
    findings: &mut Findings,
) -> Option<ReadLink> {
    let field = field?;
    let DeValue::Table(table) = field.value else {
        let example = "download = { rate = \"240mbit\" }";
        findings.add(wrong_type("download", "a table", field.value, example).at(&field.span));
        return None;
    };
    let section = Section::open(table, &DOWNLOAD, findings);
    if section.get("rate").is_none() {
        let help = "add the rate of the line in this direction, such as rate = \"240mbit\"";
        let problem = format!("the download of {} has no rate", of.device);
        let error = Diagnostic::error(Code::MissingKey, problem, help);
        findings.add(error.at(&field.span, "this download"));
    }
    let rate = read_rate(&section, "rate", findings);
    let tenants = tenant::read_all(section.get("tenant"), source, findings);
    let classes = class::read_all(section.get("class"), source, findings);
    check_count(&tenants, &classes, findings);
    let overhead = section.integer("overhead", OVERHEAD_BYTES, findings);
    Some(ReadLink {
        device: device::download_of(&of.device),
        line: source.line(field.span.start),
        rate_bps: bps_of(&rate),
        rate_span: rate.map_or(field.span.clone(), |rate| rate.span),
        device_span: field.span,
        overhead_bytes: overhead.map_or(of.overhead_bytes, |bytes| bytes as u32),
        pacing: Pacing::Timer,
        packets: of.packets,
        burst_ns: of.burst_ns,
        lag_max_ns: of.lag_max_ns,
        horizon_ns: of.horizon_ns,
        beyond_horizon: of.beyond_horizon,
        ecn: section.boolean("ecn", findings).unwrap_or(of.ecn),
        thins_acks: false,
        on_conflict: of.on_conflict,
        backend: read_backend(&section, findings),
        tenants,
        classes,
        download: None,
    })
}

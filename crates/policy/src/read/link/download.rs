//! `[link.DEV.download]`: what the device receives. It is read as a link of its own.

use toml::de::DeValue;

use super::autorate::{self, read_link_rate};
use super::class::{self, CLASS, ReadClass};
use super::preset::{self, PRESETS};
use super::share::bps_of;
use super::tenant::{self, TENANT};
use super::{OVERHEAD_BYTES, ReadLink, check_count, framing, read_backend};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::place::Place;
use crate::read::section::{Field, Section, wrong_type};
use crate::source::Source;
use crate::value::device;
use crate::{Code, Pacing, Sharing};

pub(in crate::read) const DOWNLOAD: Schema = Schema {
    what: "download",
    place: Some(Place::Download),
    doc: "What the device receives, as a link of its own; without classes it has those of the link, \
          with source and destination exchanged",
    keys: &[
        Key::required(
            "rate",
            Takes::Spelled(autorate::schema),
            "Rate of the line in this direction; a little below it, so that packets wait here and \
             not before the line; of a line that changes its bounds, as { min, base, max }",
        ),
        Key::new(
            "overhead",
            Takes::Integer(OVERHEAD_BYTES),
            "Bytes per frame, beyond the Ethernet frame; without any of these four keys: as the link",
        ),
        framing::NAMED,
        framing::OF_A_FRAME,
        framing::INTO_CELLS,
        Key::new(
            "ecn",
            Takes::Boolean,
            "Packets of senders that understand it are marked instead of dropped; default: the \
             link's",
        ),
        Key::new(
            "share",
            Takes::Word(&words(&SHARE)),
            "What has equal parts of a class's capacity: flows, or hosts first (those that receive); \
             default: as the link",
        ),
        Key::new(
            "wash",
            Takes::Boolean,
            "Packets get the DSCP 0, after they are classified, unless their class sets another; \
             default: the link's",
        ),
        Key::new(
            "backend",
            Takes::Word(&BACKENDS),
            "The backend that carries it out; by default the cheapest that keeps the policy",
        ),
        Key::new(
            "preset",
            Takes::Word(&words(&PRESETS)),
            "Classes voice, video, bulk and default, by DSCP as with CAKE; the download's own come \
             first; default: the link's, where it has the link's classes",
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

/// `hosts` are those behind the device: they receive what comes in.
const SHARE: Words<Sharing, 4> = [
    ("flows", Sharing::Flows),
    ("hosts", Sharing::Destinations),
    ("sources", Sharing::Sources),
    ("destinations", Sharing::Destinations),
];

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
    let (rate, range) = read_link_rate(&section, findings);
    let tenants = tenant::read_all(section.get("tenant"), source, findings);
    let mut classes = class::read_all(section.get("class"), source, findings);
    let preset = preset::read(&section, findings);
    let has_default = |classes: &[ReadClass]| {
        let mut own = classes.iter().filter(|class| !class.is_of_preset);
        own.any(ReadClass::is_default)
    };
    // Shares of its own rate.
    let is_divided = !(classes.is_empty() && tenants.is_empty());
    let (from, has_default) = match (&preset, is_divided) {
        (Some(own), _) => (Some(own), has_default(&classes)),
        (None, true) => (None, false),
        (None, false) => (of.preset.as_ref(), has_default(&of.classes)),
    };
    classes.extend(
        from.into_iter()
            .flat_map(|preset| preset::classes(preset, bps_of(&rate), has_default, source)),
    );
    check_count(&tenants, &classes, findings);
    Some(ReadLink {
        device: device::download_of(&of.device),
        line: source.line(field.span.start),
        rate_bps: bps_of(&rate),
        rate_span: rate.map_or(field.span.clone(), |rate| rate.span),
        by_device: autorate::by_device(&section).is_some(),
        range,
        reflectors: { of.reflectors.as_ref() }.cloned(),
        device_span: field.span,
        framing: framing::read(&section, findings).unwrap_or(of.framing),
        pacing: Pacing::Timer,
        packets: of.packets,
        burst_ns: of.burst_ns,
        lag_max_ns: of.lag_max_ns,
        slack_ns: of.slack_ns,
        horizon_ns: of.horizon_ns,
        beyond_horizon: of.beyond_horizon,
        ecn: section.boolean("ecn", findings).unwrap_or(of.ecn),
        thins_acks: false,
        share: section
            .word("share", &SHARE, findings)
            .unwrap_or(of.share.reversed()),
        wash: section.boolean("wash", findings).unwrap_or(of.wash),
        on_conflict: of.on_conflict,
        backend: read_backend(&section, findings),
        preset,
        tenants,
        classes,
        download: None,
    })
}

//! From TOML to the model: keys, values and defaults.
//!
//! Each reader reports all errors and returns the rest, so that one run shows every mistake.
//! Whether the parts are consistent is for [`check`](crate::check).

pub(crate) mod beats;
mod crowd;
mod foreign;
pub(crate) mod keys;
mod link;
pub(crate) mod place;
mod radio;
mod section;
mod syntax;
pub(crate) mod traffic;

use toml::de::{DeTable, DeValue};

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::source::{Source, Span};

pub(crate) use beats::task::{MEMBERS_MAX, PERIOD_MAX_NS, ReadTask, TASKS_MAX};
pub(crate) use beats::{GRID_MIN_NS, ReadBeats};
pub(crate) use crowd::ReadCrowd;
use keys::{Key, Schema, Takes};
pub(crate) use link::ReadLink;
pub(crate) use link::aqm::MAX_NS as AQM_MAX_NS;
pub(crate) use link::autorate::ReadRange;
pub(crate) use link::burst::{CLASS_NS as BURST_OF_CLASS_NS, SHARED_TIMES as BURST_SHARED_TIMES};
pub(crate) use link::class::ReadClass;
pub(crate) use link::matching::ReadMatch;
pub(crate) use link::share::{PRIORITY_REST, ReadRate, ReadShare, WEIGHT_DEFAULT_MILLI, bps_of};
pub(crate) use link::slack::default_ns as slack_default_ns;
pub(crate) use link::tenant::ReadTenant;
use place::Place;
pub(crate) use radio::ReadRadio;
use section::{Field, Section, in_file_order, wrong_type};

pub(crate) const FILE: Schema = Schema {
    what: "policy",
    place: Some(Place::File),
    doc: "A policy of Takt",
    keys: &[
        Key::new(
            "link",
            Takes::PerDevice(&link::LINK),
            "Network devices, by their names",
        ),
        Key::new("radio", Takes::Table(&radio::RADIO), radio::RADIO.doc),
        Key::new("crowd", Takes::Table(&crowd::CROWD), crowd::CROWD.doc),
        Key::new("beats", Takes::Table(&beats::BEATS), beats::BEATS.doc),
        Key::new(
            "task",
            Takes::Tables(&beats::task::TASK),
            "Threads on the beat",
        ),
    ],
};

/// The position of the file as a whole.
const START: Span = 0..0;

const SMALLEST: &str = "the smallest policy is a table [link.eth0] with rate = \"1gbit\", or a \
                        [[task]] with name, period and budget";

/// The whole file. Wrong values are absent, and have been reported.
#[derive(Default)]
pub(crate) struct ReadPolicy {
    pub links: Vec<ReadLink>,
    pub radio: Option<ReadRadio>,
    pub crowd: Option<ReadCrowd>,
    /// `None` without a task.
    pub beats: Option<ReadBeats>,
}

/// Reads the whole file. The text is the source's before it was made printable.
pub(crate) fn read(text: &str, source: &Source, findings: &mut Findings) -> ReadPolicy {
    let (file, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        // Values that the parser's recovery made up would only cause false errors.
        syntax::report(&errors, source, findings);
        return ReadPolicy::default();
    }
    if file.get_ref().is_empty() {
        findings
            .add(Diagnostic::error(Code::Empty, "the policy is empty", SMALLEST).at(&START, ""));
        return ReadPolicy::default();
    }
    let section = Section::open(file.get_ref(), &FILE, findings);
    let policy = ReadPolicy {
        links: read_links(section.get("link"), source, findings),
        radio: radio::read(section.get("radio"), findings),
        crowd: crowd::read(section.get("crowd"), findings),
        beats: beats::read(&section, source, findings),
    };
    let is_empty = policy.links.is_empty()
        && policy.beats.is_none()
        && policy.radio.is_none()
        && policy.crowd.is_none();
    if is_empty && !findings.has_errors() {
        let error = Diagnostic::error(Code::NoLink, "the policy has no link and no task", SMALLEST);
        let error = match section.get("link").or_else(|| section.get("task")) {
            Some(field) => error.at(&field.span, "nothing in here"),
            None => error.at(&START, ""),
        };
        findings.add(error);
    }
    policy
}

fn read_links(links: Option<Field>, source: &Source, findings: &mut Findings) -> Vec<ReadLink> {
    let Some(links) = links else {
        return Vec::new();
    };
    let DeValue::Table(table) = links.value else {
        let fault = wrong_type("link", "a table per device", links.value, "[link.eth0]");
        findings.add(fault.at(&links.span));
        return Vec::new();
    };
    in_file_order(table)
        .into_iter()
        .filter_map(|(device, span, value)| link::read(device, span, value, source, findings))
        .collect()
}

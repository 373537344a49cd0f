//! `[radio]`

mod points;

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::{Value, json};
use toml::de::DeValue;

use crate::findings::Findings;
use crate::read::beats::task::Placed;
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::place::Place;
use crate::read::section::{Field, Section, missing, wrong_type};
use crate::source::Span;
use crate::value::{decibel, device, endpoint, fraction, path};
use crate::{Point, RadioSource, Report, WeightLaw};

pub(in crate::read) const RADIO: Schema = Schema {
    what: "table of radio",
    place: Some(Place::Radio),
    doc: "Stations with good or bad reception, and their weights",
    keys: &[
        Key::with_default(
            "interval",
            Takes::Duration(INTERVAL_MIN_NS..=INTERVAL_MAX_NS),
            "\"200ms\"",
            "Between two samples or reports of one station",
        ),
        Key::with_default(
            "smoothing",
            Takes::Number(SMOOTHING_PPM, fraction::WHOLE_PPM),
            "0.5",
            "The share of the newest sample in the average",
        ),
        Key::with_default(
            "decay",
            Takes::Number(DECAY_PPM, fraction::WHOLE_PPM),
            "0.7",
            "The part of the average that remains after an interval without a report",
        ),
        Key::with_default(
            "weight",
            Takes::Word(&words(&LAWS)),
            "\"pw\"",
            "Linear between points; or 1 above threshold and 0 otherwise",
        ),
        Key::with_default(
            "points",
            Takes::Spelled(points::schema),
            "[[0, 0.0], [4, 0.2], [10, 0.8], [14, 1.0]]",
            "With \"pw\": 1 to 16 pairs of dB and a weight; strengths rise, weights do not fall",
        ),
        Key::new(
            "threshold",
            Takes::Number(decibel::RANGE_CENTIDB, 100),
            "With \"gb\": dB from which on a station is good; two decimals",
        ),
        Key::new(
            "links",
            Takes::Spelled(links_schema),
            "The devices whose links have stations; default: all of the policy",
        ),
        Key::new(
            "source",
            Takes::Word(&words(&SOURCES)),
            "The source of strengths: clients, the access point's own table, a file, or only \
             `takt station set`; default: reports with key_file and stations, else none",
        ),
        Key::new(
            "file",
            Takes::Spelled(path::schema),
            "With source = \"file\": lines ADDR DB, read every interval",
        ),
        Key::new(
            "key_file",
            Takes::Spelled(path::schema),
            "The key that seals reports, for root alone; `takt radio key` makes one",
        ),
        Key::with_default(
            "listen",
            Takes::Integer(PORTS),
            "7641",
            "The UDP port for reports",
        ),
        Key::new(
            "report_to",
            Takes::Spelled(endpoint::schema),
            "On a client: the receiver of its own strength, such as \"192.0.2.1:7641\"",
        ),
        Key::new(
            "device",
            Takes::Spelled(device::schema),
            "The device whose signal is reported; required with report_to",
        ),
    ],
};

const SMOOTHING_PPM: RangeInclusive<i64> = 10_000..=1_000_000;
const DECAY_PPM: RangeInclusive<i64> = 0..=1_000_000;
const PORTS: RangeInclusive<u64> = 1..=65_535;
/// Whether stations are good or bad and nothing between.
const LAWS: Words<bool, 2> = [("pw", false), ("gb", true)];

#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Reports,
    StationDump,
    File,
    None,
}

const SOURCES: Words<Origin, 4> = [
    ("reports", Origin::Reports),
    ("station-dump", Origin::StationDump),
    ("file", Origin::File),
    ("none", Origin::None),
];

fn links_schema() -> Value {
    json!({"type": "array", "items": device::schema()})
}

/// SoCPS, section 4.4.1.
const INTERVAL_DEFAULT_NS: u64 = 200_000_000;
const INTERVAL_MIN_NS: u64 = 10_000_000;
const INTERVAL_MAX_NS: u64 = 10_000_000_000;
const SMOOTHING_DEFAULT_PPM: u32 = 500_000;
const SMOOTHING_HELP: &str =
    "smoothing is the share of the newest sample, from 0.01 to 1; the default is 0.5";
/// SoCPS, section 5.1.
const DECAY_DEFAULT_PPM: u32 = 700_000;
const DECAY_HELP: &str =
    "decay is what an interval without a report leaves, from 0 to 1; the default is 0.7";
const LISTEN_DEFAULT: u16 = 7641;

/// `[radio]` in the file's terms. Wrong values are absent, and have been reported.
pub(crate) struct ReadRadio {
    pub span: Span,
    pub interval_ns: u64,
    pub smoothing_ppm: u32,
    pub decay_ppm: u32,
    pub law: WeightLaw,
    pub links: Option<Vec<Placed<String>>>,
    /// `None`: the default, which depends on the other keys.
    pub source: Option<RadioSource>,
    pub listen: u16,
    pub key_file: Option<PathBuf>,
    /// Its position.
    pub key_span: Option<Span>,
    pub report: Option<Report>,
    /// Whether report_to is present, valid or not.
    has_report: bool,
}

impl ReadRadio {
    /// Whether the host is a client that reports its own strength, which needs no link.
    pub fn reports(&self) -> bool {
        self.has_report
    }

    /// Whether the link of this device has stations.
    pub fn covers(&self, device: &str) -> bool {
        match &self.links {
            Some(links) => links.iter().any(|(name, _)| name == device),
            None => true,
        }
    }
}

pub(super) fn read(field: Option<Field>, findings: &mut Findings) -> Option<ReadRadio> {
    let field = field?;
    let DeValue::Table(table) = field.value else {
        findings.add(field.wrong_type("a table", "[radio]").at(&field.span));
        return None;
    };
    let section = Section::open(table, &RADIO, findings);
    let key_file = section.path("key_file", "radio.key", findings);
    let file = section.path("file", "radio.txt", findings);
    Some(ReadRadio {
        span: field.span,
        interval_ns: section
            .duration(
                "interval",
                "200ms",
                INTERVAL_MIN_NS..=INTERVAL_MAX_NS,
                findings,
            )
            .map_or(INTERVAL_DEFAULT_NS, |(interval_ns, _)| interval_ns),
        smoothing_ppm: section
            .number("smoothing", "smoothing = 0.5", findings, |text| {
                fraction::parse("smoothing", text, SMOOTHING_PPM, SMOOTHING_HELP)
            })
            .unwrap_or(SMOOTHING_DEFAULT_PPM),
        decay_ppm: section
            .number("decay", "decay = 0.7", findings, |text| {
                fraction::parse("decay", text, DECAY_PPM, DECAY_HELP)
            })
            .unwrap_or(DECAY_DEFAULT_PPM),
        law: read_law(&section, findings),
        links: read_links(section.get("links"), findings),
        source: read_source(&section, file, findings),
        listen: section
            .integer("listen", PORTS, findings)
            .map_or(LISTEN_DEFAULT, |port| port as u16),
        key_file,
        key_span: section.get("key_file").map(|field| field.span),
        report: read_report(&section, findings),
        has_report: section.get("report_to").is_some(),
    })
}

fn read_law(section: &Section, findings: &mut Findings) -> WeightLaw {
    let good_bad = section.word("weight", &LAWS, findings);
    let threshold = section.number("threshold", "threshold = 6", findings, decibel::parse);
    let points = section
        .get("points")
        .and_then(|field| points::read(&field, findings));
    if good_bad == Some(true) {
        section.refuse_idle("points", "weight = \"pw\"", findings);
        if let (None, Some(field)) = (section.get("threshold"), section.get("weight")) {
            let error = missing("weight = \"gb\"", "threshold", "threshold = 6");
            findings.add(error.at(&field.span, "good from where on?"));
        }
        let threshold_centidb = threshold.unwrap_or_default();
        return WeightLaw::GoodBad { threshold_centidb };
    }
    // If the weight could not be read, either kind may be intended.
    if good_bad.is_some() || section.get("weight").is_none() {
        section.refuse_idle("threshold", "weight = \"gb\"", findings);
    }
    let points = points.unwrap_or_else(default_points);
    WeightLaw::Piecewise { points }
}

/// SoCPS, section 5.1.
fn default_points() -> Vec<Point> {
    [(0, 0), (400, 200_000), (1_000, 800_000), (1_400, 1_000_000)]
        .map(|(soc_centidb, weight_ppm)| Point {
            soc_centidb,
            weight_ppm,
        })
        .to_vec()
}

fn read_links(field: Option<Field>, findings: &mut Findings) -> Option<Vec<Placed<String>>> {
    const EXPECTED: &str = "a list of devices";
    const EXAMPLE: &str = "links = [\"wlan0\"]";
    let field = field?;
    let DeValue::Array(array) = field.value else {
        findings.add(field.wrong_type(EXPECTED, EXAMPLE).at(&field.span));
        return None;
    };
    let mut links = Vec::new();
    for entry in array.iter() {
        match entry.get_ref() {
            DeValue::String(device) => match device::check(device) {
                Ok(()) => links.push((device.to_string(), entry.span())),
                Err(fault) => findings.add(fault.at(&entry.span())),
            },
            other => findings.add(wrong_type("links", EXPECTED, other, EXAMPLE).at(&entry.span())),
        }
    }
    Some(links)
}

fn read_source(
    section: &Section,
    file: Option<PathBuf>,
    findings: &mut Findings,
) -> Option<RadioSource> {
    let said = section.get("source");
    let source = section.word("source", &SOURCES, findings);
    if let (None, Some(_)) = (&source, &said) {
        return None; // It could not be read: any of them may be meant.
    }
    let need = |key: &str, example: &str, findings: &mut Findings| {
        if let (None, Some(field)) = (section.get(key), &said) {
            let what = format!("source = {}", shown(field));
            findings.add(missing(&what, key, example).at(&field.span, "needs it"));
        }
    };
    match source {
        Some(Origin::Reports) => need("key_file", "key_file = \"radio.key\"", findings),
        Some(Origin::File) => need("file", "file = \"snr.txt\"", findings),
        _ => (),
    }
    if source != Some(Origin::File) {
        section.refuse_idle("file", "source = \"file\"", findings);
    }
    let may_take_reports = matches!(source, None | Some(Origin::Reports));
    if !may_take_reports || section.get("key_file").is_none() {
        section.refuse_idle("listen", "source = \"reports\" and a key_file", findings);
    }
    if !may_take_reports && section.get("report_to").is_none() {
        section.refuse_idle("key_file", "source = \"reports\" or report_to", findings);
    }
    source.map(|origin| match origin {
        Origin::Reports => RadioSource::Reports,
        Origin::StationDump => RadioSource::StationDump,
        Origin::File => RadioSource::File(file.unwrap_or_default()),
        Origin::None => RadioSource::None,
    })
}

fn read_report(section: &Section, findings: &mut Findings) -> Option<Report> {
    let to = section.text(
        "report_to",
        "report_to = \"192.0.2.1:7641\"",
        findings,
        |text| endpoint::parse(text, "192.0.2.1:7641"),
    );
    let device = section.device(findings);
    let Some(field) = section.get("report_to") else {
        section.refuse_idle("device", "report_to", findings);
        return None;
    };
    for (key, example) in [
        ("device", "device = \"wlan0\""),
        ("key_file", "key_file = \"radio.key\""),
    ] {
        if section.get(key).is_none() {
            findings.add(missing("report_to", key, example).at(&field.span, "needs it"));
        }
    }
    Some(Report {
        to: to?,
        device: device?,
    })
}

fn shown(field: &Field) -> String {
    match field.value {
        DeValue::String(text) => format!("\"{text}\""),
        _ => String::new(),
    }
}

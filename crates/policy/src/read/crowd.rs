//! `[crowd]`

use std::{net::SocketAddr, path::PathBuf};

use serde_json::{Value, json};
use toml::de::DeValue;

use super::keys::{Key, Schema, Takes};
use super::place::Place;
use super::section::{Field, Section, missing};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::source::Span;
use crate::value::{Fault, device, path};
use crate::{CROWD_PORT, Code, Crowd, CrowdRole};

pub(in crate::read) const CROWD: Schema = Schema {
    what: "table of crowd",
    place: Some(Place::Crowd),
    doc: "Terminals that share the air, and bound their congestion windows together",
    keys: &[
        Key::new(
            "group",
            Takes::Spelled(group_schema),
            "The group's name, the same on all of its hosts; only an access point can do without",
        ),
        Key::new(
            "key_file",
            Takes::Spelled(path::schema),
            "The key that seals reports, for root alone; `takt crowd key` makes one",
        ),
        Key::required(
            "device",
            Takes::Spelled(device::schema),
            "The device on the shared air",
        ),
        Key::with_default(
            "interval",
            Takes::Duration(INTERVAL_MIN_NS..=INTERVAL_MAX_NS),
            "\"200ms\"",
            "Between two reports, and between two bounds of a flow",
        ),
        Key::new(
            "aggregator",
            Takes::Spelled(aggregator_schema),
            "Reports go to this host's taktd, which sends one answer to all; without it they are \
             multicast on device",
        ),
        Key::with_default(
            "aggregate",
            Takes::Boolean,
            "false",
            "This host is that aggregator: an access point, or behind it",
        ),
        Key::with_default(
            "access_point",
            Takes::Boolean,
            "false",
            "The link on device leads to the terminals: a queued pure acknowledgement of TCP is \
             replaced by a newer one of its flow",
        ),
        Key::with_default(
            "downloads",
            Takes::Boolean,
            "false",
            "Bound what sockets of this host receive by device, too",
        ),
    ],
};

const INTERVAL_DEFAULT_NS: u64 = 200_000_000;
const INTERVAL_MIN_NS: u64 = 100_000_000;
const INTERVAL_MAX_NS: u64 = 1_000_000_000;
const GROUP_MAX_CHARS: usize = 64;
const AGGREGATOR: &str = "192.0.2.1:7642";

/// `[crowd]` in the file's terms, and the positions of its device and its key. Wrong values have
/// been reported, and are empty here.
pub(crate) struct ReadCrowd {
    /// `None`: an access point that is in no group.
    pub crowd: Option<Crowd>,
    pub device: String,
    pub device_span: Span,
    pub key_span: Option<Span>,
    /// `None`: this host is no access point.
    pub access_point_span: Option<Span>,
}

impl ReadCrowd {
    /// Whether the link on this device thins acknowledgements.
    pub fn thins(&self, device: &str) -> bool {
        self.access_point_span.is_some() && self.device == device
    }
}

/// Keys of members of a group.
const OF_MEMBERS: [&str; 5] = ["group", "key_file", "interval", "aggregator", "aggregate"];

pub(super) fn read(field: Option<Field>, findings: &mut Findings) -> Option<ReadCrowd> {
    let field = field?;
    let DeValue::Table(table) = field.value else {
        findings.add(field.wrong_type("a table", "[crowd]").at(&field.span));
        return None;
    };
    let section = Section::open(table, &CROWD, findings);
    let access_point = section.get("access_point");
    let thins = section.boolean("access_point", findings);
    // A wrong value has been reported, and says nothing about a group.
    let may_be_alone = access_point.is_some() && thins != Some(false);
    let is_member = !may_be_alone || OF_MEMBERS.iter().any(|key| section.get(key).is_some());
    for (key, example, is_needed) in [
        ("group", "group = \"lab-wlan\"", is_member),
        ("key_file", "key_file = \"crowd.key\"", is_member),
        ("device", "device = \"wlan0\"", true),
    ] {
        if is_needed && section.get(key).is_none() {
            findings.add(missing("[crowd]", key, example).at(&field.span, "needs it"));
        }
    }
    let group = section.text("group", "group = \"lab-wlan\"", findings, parse_group);
    let key_file: Option<PathBuf> = section.path("key_file", "crowd.key", findings);
    let interval = section.duration(
        "interval",
        "200ms",
        INTERVAL_MIN_NS..=INTERVAL_MAX_NS,
        findings,
    );
    let device = section.device(findings).unwrap_or_default();
    let crowd = Crowd {
        group: group.unwrap_or_default(),
        key_file: key_file.unwrap_or_default(),
        device: device.clone(),
        interval_ns: interval.map_or(INTERVAL_DEFAULT_NS, |(interval_ns, _)| interval_ns),
        downloads: section.boolean("downloads", findings).unwrap_or(false),
        role: read_role(&section, findings),
    };
    Some(ReadCrowd {
        crowd: is_member.then_some(crowd),
        device,
        access_point_span: access_point
            .filter(|_| thins == Some(true))
            .map(|field| field.span),
        key_span: section.get("key_file").map(|field| field.span),
        device_span: section.get("device").map_or(field.span, |field| field.span),
    })
}

fn group_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": GROUP_MAX_CHARS})
}

fn parse_group(text: &str) -> Result<String, Fault> {
    let length = text.chars().count();
    let problem = if length == 0 {
        "the name of the group is empty".to_owned()
    } else if length > GROUP_MAX_CHARS {
        format!("the name of the group is {length} characters long")
    } else if text.contains(char::is_control) {
        "the name of the group has a control character in it".to_owned()
    } else {
        return Ok(text.to_owned());
    };
    let help = "a group's name is 1 to 64 characters, the same on every host of the group";
    Err(Fault::new(Code::BadName, problem, help))
}

fn read_role(section: &Section, findings: &mut Findings) -> CrowdRole {
    let example = format!("aggregator = \"{AGGREGATOR}\"");
    let by = section.text("aggregator", &example, findings, parse_aggregator);
    if section.boolean("aggregate", findings) == Some(true) {
        for (key, help) in [
            (
                "aggregator",
                "this host is the aggregator: take out one of the two",
            ),
            (
                "downloads",
                "an aggregator bounds no flows of its own: take out one of the two",
            ),
        ] {
            if let Some(field) = section.get(key) {
                let problem = format!("`{key}` does nothing beside aggregate = true");
                let error = Diagnostic::error(Code::IdleKey, problem, help);
                findings.add(error.at(&field.span, "for nothing"));
            }
        }
        return CrowdRole::Aggregator;
    }
    by.map_or(CrowdRole::Multicast, |by| CrowdRole::Aggregated { by })
}

fn aggregator_schema() -> Value {
    json!({"type": "string", "pattern": format!("^[0-9.]+:{CROWD_PORT}$")})
}

/// The aggregator answers by IPv4, and all terminals listen at the same port.
fn parse_aggregator(text: &str) -> Result<SocketAddr, Fault> {
    let by = text.parse().map(SocketAddr::V4);
    by.ok().filter(|by| by.port() == CROWD_PORT).ok_or_else(|| {
        Fault::new(
            Code::BadAddress,
            format!("`{text}` is not an aggregator's address and port"),
            format!("write \"{AGGREGATOR}\": IPv4, and always this port; names are not resolved"),
        )
    })
}

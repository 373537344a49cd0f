//! Traffic files: keys, values and defaults.

mod distribution;
mod host;
mod kind;
mod source;
mod station;
mod task;

use toml::de::{DeTable, DeValue};

use super::keys::{Key, Schema, Takes};
use super::section::Section;
use super::{START, syntax};
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::source::Source as Text;
use crate::traffic::{Device, Host, Source, Station, Task};

pub(crate) const FILE: Schema = Schema {
    what: "traffic file",
    place: None,
    doc: "Traffic for takt sim",
    keys: &[
        Key::new("device", Takes::Table(&host::DEVICE), host::DEVICE.doc),
        Key::new("host", Takes::Table(&host::HOST), host::HOST.doc),
        Key::new("measure", Takes::Table(&host::MEASURE), host::MEASURE.doc),
        Key::new(
            "station",
            Takes::Tables(&station::STATION),
            station::STATION.doc,
        ),
        Key::new("source", Takes::Tables(&source::SOURCE), source::SOURCE.doc),
        Key::new("task", Takes::Tables(&task::TASK), task::TASK.doc),
    ],
};

const SMALLEST: &str = "the smallest traffic file is a table [[source]] with name = \"all\" and kind \
                        = \"backlog\"";

/// The whole file. Valid only if no error was found.
pub(crate) struct ReadTraffic {
    pub device: Device,
    pub host: Host,
    pub measure_after_ns: u64,
    pub stations: Vec<Station>,
    pub sources: Vec<Source>,
    pub tasks: Vec<Task>,
}

/// Reads the whole file. The text is the source's before it was made printable.
pub(crate) fn read(text: &str, source: &Text, findings: &mut Findings) -> ReadTraffic {
    let (file, errors) = DeTable::parse_recoverable(text);
    let empty = DeTable::new();
    let table = if errors.is_empty() {
        file.get_ref()
    } else {
        syntax::report(&errors, source, findings);
        &empty
    };
    let section = Section::open(table, &FILE, findings);
    let device = host::read_device(&section, findings);
    let read = ReadTraffic {
        device,
        host: host::read_host(&section, findings),
        measure_after_ns: host::read_measure(&section, findings),
        stations: station::read_all(&section, device.medium.is_some(), findings),
        sources: source::read_all(&section, findings),
        tasks: task::read_all(&section, findings),
    };
    if read.sources.is_empty() && !findings.has_errors() {
        let error = Diagnostic::error(Code::NoTraffic, "nothing sends in this file", SMALLEST);
        findings.add(error.at(&START, ""));
    }
    read
}

/// The table of a key, opened; `None` without the key, or if it is no table, which is reported.
fn table<'a>(
    section: &Section<'a>,
    key: &str,
    schema: &Schema,
    findings: &mut Findings,
) -> Option<Section<'a>> {
    let field = section.get(key)?;
    match field.value {
        DeValue::Table(table) => Some(Section::open(table, schema, findings)),
        _ => {
            let fault = field.wrong_type("a table", &format!("[{key}]"));
            findings.add(fault.at(&field.span));
            None
        }
    }
}

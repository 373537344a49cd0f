//! `match = { … }` of a task: which thread it is.

use toml::de::DeValue;

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes};
use crate::read::place::Place;
use crate::read::section::{Field, Section};
use crate::source::Span;
use crate::value::owner;
use crate::{Code, ThreadMatch};

pub(in crate::read) const MATCH: Schema = Schema {
    what: "task's match",
    place: Some(Place::TaskMatch),
    doc: "Which thread; all keys have to hold",
    keys: &[
        Key::new(
            "thread",
            Takes::Spelled(owner::comm_schema),
            "The thread of this name; not in a group, whose threads go by members",
        ),
        Key::new(
            "command",
            Takes::Spelled(owner::comm_schema),
            "Threads of a process whose first thread has this name, as `ps -o comm` shows it",
        ),
        Key::new(
            "cgroup",
            Takes::Spelled(owner::cgroup_schema),
            "Threads in this control group or below it",
        ),
        Key::new(
            "unit",
            Takes::Spelled(owner::unit_schema),
            "Threads in this systemd unit; with its ending",
        ),
    ],
};

const EXAMPLE: &str = "match = { command = \"mixer\", thread = \"audio\" }";

pub(crate) struct ReadThread {
    pub terms: ThreadMatch,
    pub span: Span,
    /// The position of `thread`, if present.
    pub thread_span: Option<Span>,
}

/// `None` if a term could not be read: without it the match would have another meaning.
pub(super) fn read(field: Option<Field>, findings: &mut Findings) -> Option<ReadThread> {
    let field = field?;
    let DeValue::Table(table) = field.value else {
        let fault = field.wrong_type("one table", EXAMPLE);
        findings.add(fault.at(&field.span));
        return None;
    };
    if table.is_empty() {
        let error = Diagnostic::error(
            Code::MissingKey,
            "an empty match says nothing about which thread it takes",
            format!(
                "give it at least one of {}; without match it is the thread that has the task's \
                 name",
                MATCH.list()
            ),
        );
        findings.add(error.at(&field.span, "empty"));
        return None;
    }
    let section = Section::open(table, &MATCH, findings);
    let mut comm = |key: &str, example: &str| {
        section.text(key, example, findings, |text| owner::parse_comm(key, text))
    };
    let (thread, command) = (
        comm("thread", "thread = \"audio\""),
        comm("command", "command = \"mixer\""),
    );
    let terms = ThreadMatch {
        thread,
        command,
        cgroup: section.text(
            "cgroup",
            "cgroup = \"studio.slice\"",
            findings,
            owner::parse_cgroup,
        ),
        unit: section.text(
            "unit",
            "unit = \"mixer.service\"",
            findings,
            owner::parse_unit,
        ),
    };
    let found = [&terms.thread, &terms.command, &terms.cgroup, &terms.unit];
    let count = found.into_iter().flatten().count();
    (count == table.len()).then(|| ReadThread {
        terms,
        span: field.span,
        thread_span: section.get("thread").map(|field| field.span),
    })
}

//! `[[task]]`

use serde_json::{Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::thread::{self, ReadThread};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes, Words, words};
use crate::read::place::Place;
use crate::read::section::{Field, Section, tables, wrong_type};
use crate::source::{Source, Span};
use crate::value::{cpus, duration, name, owner};
use crate::{Code, ExactTime, Handoff, Overrun};

pub(in crate::read) const TASK: Schema = Schema {
    what: "task",
    place: Some(Place::Task),
    doc: "A thread on the beat, or a group of threads",
    keys: &[
        Key::required("name", Takes::Spelled(name::schema), "Name of the task"),
        Key::required(
            "period",
            Takes::Exact(PERIOD_MIN_NS..=PERIOD_MAX_NS),
            "A multiple of grid, counted from zero of the host's monotonic clock",
        ),
        Key::required(
            "budget",
            Takes::Duration(BUDGET_MIN_NS..=PERIOD_MAX_NS),
            "Time that it may use in each period, of a group all members together; up to the \
             period",
        ),
        Key::new(
            "offset",
            Takes::Exact(0..=PERIOD_MAX_NS),
            "When in the period the budget begins, a multiple of grid; default: where there is \
             room",
        ),
        Key::with_default(
            "lead",
            Takes::Spelled(lead_schema),
            "\"0us\"",
            "The thread is released this long before its beat, and spins on the CPU until then; \
             \"auto\": as long as its measured starts need, up to 50us",
        ),
        Key::new(
            "cpus",
            Takes::Spelled(cpus::schema),
            "The CPUs that may have its slots: 1, \"0-3,6\"; default: those of [beats]",
        ),
        Key::with_default(
            "overrun",
            Takes::Word(&words(&OVERRUN)),
            "\"demote\"",
            "What happens to a thread that exceeds its budget: it is an ordinary \
             thread until its next release; it gets SIGXCPU as well; all of its group become \
             ordinary threads; or it waits for its next slot, and runs at no other time",
        ),
        Key::new(
            "match",
            Takes::Table(&thread::MATCH),
            "The thread; default: the one that has the task's name",
        ),
        Key::new(
            "members",
            Takes::Spelled(members_schema),
            "A group of 1 to 16 threads: the first starts at the beat, sched_yield() hands the CPU \
             to the next",
        ),
        Key::with_default(
            "handoff",
            Takes::Word(&words(&HANDOFF)),
            "\"order\"",
            "Which member goes next: the next in order, and the last one's yield ends the period; \
             or the one that the member chooses with takt_beat_pass(), until one ends the period \
             with takt_beat_end()",
        ),
    ],
};

const OVERRUN: Words<Overrun, 4> = [
    ("demote", Overrun::Demote),
    ("signal", Overrun::Signal),
    ("stop-group", Overrun::StopGroup),
    ("wait", Overrun::Wait),
];

const HANDOFF: Words<Handoff, 2> = [("order", Handoff::Order), ("free", Handoff::Free)];

fn lead_schema() -> Value {
    json!({"anyOf": [{"const": LEAD_AUTO}, duration::schema()]})
}

fn members_schema() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "maxItems": MEMBERS_MAX,
        "items": owner::comm_schema(),
    })
}

const EXAMPLE: &str = "[[task]], with two brackets";

/// The scheduler has room for so many, and for as many threads.
pub(crate) const TASKS_MAX: usize = 256;

/// The most members of one task (TAKT_MEMBERS_MAX in algo/turns.h).
pub const MEMBERS_MAX: usize = 16;

/// The shortest period of a task.
pub const PERIOD_MIN_NS: u64 = 100_000;
/// The longest, which is also the longest frame of a CPU.
pub const PERIOD_MAX_NS: u64 = 4_000_000_000;
/// The smallest budget.
pub const BUDGET_MIN_NS: u64 = 1_000;

/// A lead that calibrates itself.
const LEAD_AUTO: &str = "auto";
/// The longest that such a lead becomes, and what is reserved for it.
pub const LEAD_AUTO_MAX_NS: u64 = 50_000;

/// A value and its position.
pub(crate) type Placed<T> = (T, Span);

/// A task in the file's terms. Wrong values are absent, and have been reported.
pub(crate) struct ReadTask {
    pub name: Option<String>,
    /// Where the task is named, or where it starts.
    pub span: Span,
    pub line: usize,
    pub period_ns: Option<Placed<ExactTime>>,
    pub budget_ns: Option<Placed<u64>>,
    pub offset_ns: Option<Placed<ExactTime>>,
    pub lead_ns: Option<Placed<u64>>,
    pub lead_auto: bool,
    pub cpus: Option<Placed<Vec<u32>>>,
    pub overrun: Overrun,
    pub has_match: bool,
    /// The match of its threads.
    pub matches: Option<ReadThread>,
    /// `None` for a single thread.
    pub members: Option<Vec<Placed<String>>>,
    pub handoff: Handoff,
}

impl ReadTask {
    /// For messages.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or("?")
    }

    pub fn threads(&self) -> usize {
        self.members.as_ref().map_or(1, Vec::len)
    }
}

pub(super) fn read_all(
    tasks: Option<Field>,
    source: &Source,
    findings: &mut Findings,
) -> Vec<ReadTask> {
    tables(tasks, EXAMPLE, findings)
        .into_iter()
        .map(|(table, span)| read(table, span, source, findings))
        .collect()
}

fn read(table: &DeTable, span: Span, source: &Source, findings: &mut Findings) -> ReadTask {
    let section = Section::open(table, &TASK, findings);
    let line = source.line(span.start);
    let (name, span) = section.name(TASK.what, "mixer", span, findings);
    for (key, example) in [("period", "40ms"), ("budget", "8ms")] {
        if section.get(key).is_none() {
            let task = match &name {
                Some(name) => format!("task `{name}`"),
                None => "a task".to_owned(),
            };
            let error = Diagnostic::error(
                Code::MissingKey,
                format!("{task} has no {key}"),
                format!("add a {key}, such as {key} = \"{example}\""),
            );
            findings.add(error.at(&span, "this task"));
        }
    }
    let (lead_ns, lead_auto) = read_lead(&section, findings);
    ReadTask {
        name,
        span,
        line,
        period_ns: section.exact("period", "40ms", PERIOD_MIN_NS..=PERIOD_MAX_NS, findings),
        budget_ns: section.duration("budget", "8ms", BUDGET_MIN_NS..=PERIOD_MAX_NS, findings),
        offset_ns: section.exact("offset", "5ms", 0..=PERIOD_MAX_NS, findings),
        lead_ns,
        lead_auto,
        cpus: read_cpus(&section, findings),
        overrun: section
            .word("overrun", &OVERRUN, findings)
            .unwrap_or(Overrun::Demote),
        has_match: section.get("match").is_some(),
        matches: thread::read(section.get("match"), findings),
        members: read_members(section.get("members"), findings),
        handoff: read_handoff(&section, findings),
    }
}

/// The lead, or the most that it may become if it calibrates itself.
fn read_lead(section: &Section, findings: &mut Findings) -> (Option<Placed<u64>>, bool) {
    match section.get("lead") {
        Some(field) if matches!(field.value, DeValue::String(text) if text == LEAD_AUTO) => {
            (Some((LEAD_AUTO_MAX_NS, field.span)), true)
        }
        _ => (
            section.duration("lead", "20us", 0..=PERIOD_MAX_NS, findings),
            false,
        ),
    }
}

pub(super) fn read_cpus(section: &Section, findings: &mut Findings) -> Option<Placed<Vec<u32>>> {
    let span = section.get("cpus")?.span;
    let cpus = section.text_or_integer("cpus", "cpus = \"0-3,6\"", findings, cpus::parse)?;
    Some((cpus, span))
}

fn read_handoff(section: &Section, findings: &mut Findings) -> Handoff {
    let handoff = section
        .word("handoff", &HANDOFF, findings)
        .unwrap_or_default();
    let field = section.get("handoff").filter(|_| handoff == Handoff::Free);
    if let (Some(field), None) = (field, section.get("members")) {
        let error = Diagnostic::error(
            Code::MissingKey,
            "a single thread hands over to no other",
            "name the group's threads: members = [\"decode\", \"mix\"]; or leave handoff out",
        );
        findings.add(error.at(&field.span, "without members"));
    }
    handoff
}

fn read_members(field: Option<Field>, findings: &mut Findings) -> Option<Vec<Placed<String>>> {
    const EXPECTED: &str = "a list of names";
    const EXAMPLE: &str = "members = [\"decode\", \"mix\"]";
    let field = field?;
    let DeValue::Array(array) = field.value else {
        findings.add(field.wrong_type(EXPECTED, EXAMPLE).at(&field.span));
        return None;
    };
    if array.is_empty() {
        let error = Diagnostic::error(
            Code::MissingKey,
            "a group without members has no thread to run",
            format!("name its threads in the order of hand-off: {EXAMPLE}; or leave members out"),
        );
        findings.add(error.at(&field.span, "empty"));
        return None;
    }
    let member = |entry: &Spanned<DeValue>| {
        let name = match entry.get_ref() {
            DeValue::String(name) => owner::parse_member(name),
            other => Err(wrong_type("members", EXPECTED, other, EXAMPLE)),
        };
        match name {
            Ok(name) => Some((name, entry.span())),
            Err(fault) => {
                findings.add(fault.at(&entry.span()));
                None
            }
        }
    };
    Some(array.iter().filter_map(member).collect())
}

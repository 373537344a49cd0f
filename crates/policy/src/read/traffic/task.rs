//! `[[task]]`, and the importance of senders.

use std::ops::RangeInclusive;

use toml::de::DeTable;

use crate::Code;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes};
use crate::read::section::{Section, missing, tables};
use crate::source::Span;
use crate::traffic::Task;
use crate::value::Fault;

const NICE: RangeInclusive<i64> = -20..=19;
const WORK_NS: RangeInclusive<u64> = 1_000..=3_600_000_000_000;

pub(super) const TASK: Schema = Schema {
    what: "task",
    place: None,
    doc: "A task that wants the sending processor in periods of exponential lengths",
    keys: &[
        NICE_KEY,
        Key::required("work", Takes::Duration(WORK_NS), "The mean period of work"),
        Key::required("rest", Takes::Duration(WORK_NS), "The mean pause"),
    ],
};

/// Of tasks and of sources.
pub(super) const NICE_KEY: Key =
    Key::with_default("nice", Takes::Number(NICE, 1), "0", "The task's nice value");

pub(super) fn read_all(file: &Section, findings: &mut Findings) -> Vec<Task> {
    let tables = tables(file.get("task"), "[[task]]", findings);
    let read = tables
        .into_iter()
        .filter_map(|(table, span)| read(table, &span, findings));
    read.collect()
}

fn read(table: &DeTable, span: &Span, findings: &mut Findings) -> Option<Task> {
    let section = Section::open(table, &TASK, findings);
    let nice = read_nice(&section, findings);
    let mut period = |key, example| {
        if section.get(key).is_none() {
            let line = format!("{key} = \"{example}\"");
            findings.add(missing("a task", key, &line).at(span, ""));
        }
        let read = section.duration(key, example, WORK_NS, findings);
        read.map(|(ns, _)| ns)
    };
    let (work_ns, rest_ns) = (period("work", "10ms"), period("rest", "100ms"));
    Some(Task {
        nice: nice.unwrap_or_default(),
        work_ns: work_ns?,
        rest_ns: rest_ns?,
    })
}

pub(super) fn read_nice(section: &Section, findings: &mut Findings) -> Option<i8> {
    section.number("nice", "nice = 10", findings, parse_nice)
}

fn parse_nice(text: &str) -> Result<i8, Fault> {
    const HELP: &str = "nice is a whole number from -20, the most important, to 19";
    let nice = text.parse().ok();
    nice.filter(|nice| NICE.contains(&i64::from(*nice)))
        .ok_or_else(|| {
            let problem = format!("the nice value {text} is out of range");
            Fault::new(Code::OutOfRange, problem, HELP)
        })
}

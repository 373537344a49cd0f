//! `[[link.DEV.class]]`

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::link::read_rate;
use super::matching::{self, ReadMatch};
use super::section::{Field, Schema, Section, wrong_type};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::source::{Source, Span};
use crate::value::Fault;
use crate::{Code, DEFAULT_CLASS, PRIORITY_BACKGROUND};

const CLASS: Schema = Schema {
    what: "class",
    keys: &["name", "match", "rate", "priority", "queue_packets"],
    later: &[
        ("per_flow", "a clock for every flow"),
        ("ceil", "borrowing up to a ceiling"),
        ("weight", "shares of what is left"),
        ("floor", "a guaranteed minimum"),
    ],
};

/// The kernel has places for 4095; one is kept for the implicit default class.
const CLASSES_MAX: usize = 4094;
const NAME_MAX_BYTES: usize = 31;
const ARRAY: &str = "an array of tables";
const EXAMPLE: &str = "[[link.eth0.class]], with two brackets";

/// A class as the file has it. What was wrong is absent, and has been reported.
pub(crate) struct ReadClass {
    pub name: Option<String>,
    /// Where the class is named, or where it starts.
    pub span: Span,
    pub line: usize,
    pub rate_bps: Option<u64>,
    pub rate_span: Option<Span>,
    pub priority: Option<u8>,
    pub queue_packets: Option<u32>,
    pub matches: Vec<ReadMatch>,
}

impl ReadClass {
    pub fn is_default(&self) -> bool {
        self.name.as_deref() == Some(DEFAULT_CLASS)
    }

    /// For messages.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or("?")
    }
}

pub(super) fn read_all(
    classes: Option<Field>,
    source: &Source,
    findings: &mut Findings,
) -> Vec<ReadClass> {
    let Some(field) = classes else {
        return Vec::new();
    };
    let DeValue::Array(array) = field.value else {
        findings.add(field.wrong_type(ARRAY, EXAMPLE).at(&field.span));
        return Vec::new();
    };
    if let Some(excess) = array.get(CLASSES_MAX) {
        let error = Diagnostic::error(
            Code::TooManyClasses,
            format!(
                "{} classes are more than the {CLASSES_MAX} a link can have",
                array.len()
            ),
            "let one class match several kinds of traffic: match = [{ … }, { … }]",
        );
        findings.add(error.at(&excess.span(), "the first one too many"));
        return Vec::new();
    }
    let read_one = |class: &Spanned<DeValue>| match class.get_ref() {
        DeValue::Table(table) => Some(read(table, class.span(), source, findings)),
        _ => {
            let fault = wrong_type(field.key, ARRAY, class.get_ref(), EXAMPLE);
            findings.add(fault.at(&class.span()));
            None
        }
    };
    array.iter().filter_map(read_one).collect()
}

fn read(table: &DeTable, span: Span, source: &Source, findings: &mut Findings) -> ReadClass {
    let section = Section::open(table, &CLASS, findings);
    let name = section.text("name", "name = \"web\"", findings, check_name);
    let name_span = section.get("name").map(|field| field.span);
    if name_span.is_none() {
        let help = "add a name, such as name = \"web\"";
        findings
            .add(Diagnostic::error(Code::MissingKey, "a class has no name", help).at(&span, ""));
    }
    let rate_span = section.get("rate").map(|field| field.span);
    let class = ReadClass {
        name,
        line: source.line(span.start),
        span: name_span.unwrap_or(span),
        rate_bps: read_rate(&section, findings).map(|rate| rate.bps),
        rate_span,
        priority: section.text_or_integer("priority", "priority = 3", findings, parse_priority),
        queue_packets: section
            .integer("queue_packets", 1..=u64::from(u16::MAX), findings)
            .map(|packets| packets as u32),
        matches: matching::read_all(section.get("match"), findings),
    };
    check_match_presence(&class, &section, findings);
    class
}

fn check_match_presence(class: &ReadClass, section: &Section, findings: &mut Findings) {
    match section.get("match") {
        Some(field) if class.is_default() => {
            let error = Diagnostic::error(
                Code::DefaultMatch,
                "the class \"default\" takes what no other class matches, so it has no match",
                "take the match out, or give the class another name",
            );
            findings.add(error.at(&field.span, "not in the default class"));
        }
        None if !class.is_default() => {
            let error = Diagnostic::error(
                Code::MissingKey,
                format!(
                    "class `{}` does not say which traffic it takes",
                    class.shown_name()
                ),
                "add a match, such as match = { proto = \"udp\", dst_port = \"5004-5100\" }; only \
                 the class named \"default\" has none",
            );
            findings.add(error.at(&class.span, "has no match"));
        }
        _ => {}
    }
}

fn check_name(name: &str) -> Result<String, Fault> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let problem = if name.is_empty() {
        "a class name is empty".to_owned()
    } else if name.len() > NAME_MAX_BYTES {
        format!("the class name `{name}` is {} bytes long", name.len())
    } else if let Some(c) = name.chars().find(|c| !is_plain(*c)) {
        format!("the class name `{name}` has `{c}` in it")
    } else {
        return Ok(name.to_owned());
    };
    let help = "names are 1 to 31 bytes out of A-Z a-z 0-9 _ . -";
    Err(Fault::new(Code::BadName, problem, help))
}

fn parse_priority(text: &str) -> Result<u8, Fault> {
    let help = "priority goes from 0 (most important) to 6, or is \"background\"";
    match text {
        "background" => Ok(PRIORITY_BACKGROUND),
        "7" => Err(Fault::new(
            Code::OutOfRange,
            "priority 7 goes by its name",
            "write priority = \"background\"",
        )),
        _ => match text.parse::<i64>() {
            Ok(number @ 0..=6) => Ok(number as u8),
            Ok(number) => Err(Fault::new(
                Code::OutOfRange,
                format!("the priority {number} is out of range"),
                help,
            )),
            Err(_) => Err(Fault::new(
                Code::BadValue,
                format!("`{text}` is not a priority"),
                help,
            )),
        },
    }
}

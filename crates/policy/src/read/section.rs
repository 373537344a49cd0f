//! One table of the file: which keys it may have, and typed access to them.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::foreign;
use super::keys::{Schema, Words};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::source::Span;
use crate::value::{Fault, closest, device, duration, exact, folded, name, path};
use crate::{Code, ExactTime};

/// A table whose keys have been checked against its schema.
pub(super) struct Section<'a> {
    table: &'a DeTable<'a>,
}

/// A key that is present, and its value.
pub(super) struct Field<'a> {
    pub key: &'a str,
    pub value: &'a DeValue<'a>,
    pub span: Span,
}

/// The entries of a table in file order; TOML tables come sorted by name.
pub(super) fn in_file_order<'a>(
    table: &'a DeTable<'a>,
) -> Vec<(&'a str, Span, &'a Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
        .collect();
    entries.sort_unstable_by_key(|(_, span, _)| span.start);
    entries
}

/// The tables of an array of tables, each with its position.
pub(super) fn tables<'a>(
    field: Option<Field<'a>>,
    example: &str,
    findings: &mut Findings,
) -> Vec<(&'a DeTable<'a>, Span)> {
    const EXPECTED: &str = "an array of tables";
    let Some(field) = field else {
        return Vec::new();
    };
    let DeValue::Array(array) = field.value else {
        findings.add(field.wrong_type(EXPECTED, example).at(&field.span));
        return Vec::new();
    };
    let table = |entry: &'a Spanned<DeValue<'a>>| match entry.get_ref() {
        DeValue::Table(table) => Some((table, entry.span())),
        other => {
            findings.add(wrong_type(field.key, EXPECTED, other, example).at(&entry.span()));
            None
        }
    };
    array.iter().filter_map(table).collect()
}

impl<'a> Section<'a> {
    /// Reports every key that does not belong.
    pub fn open(table: &'a DeTable<'a>, schema: &Schema, findings: &mut Findings) -> Section<'a> {
        Section::open_except(table, schema, &[], findings)
    }

    /// Ignores keys that have been reported already.
    pub fn open_except(
        table: &'a DeTable<'a>,
        schema: &Schema,
        reported: &[&str],
        findings: &mut Findings,
    ) -> Section<'a> {
        for (key, span, _) in in_file_order(table) {
            if !schema.has(key) && !reported.contains(&key) {
                findings.add(refuse_key(key, &span, schema));
            }
        }
        Section { table }
    }

    pub fn get(&self, key: &str) -> Option<Field<'a>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(Field {
            key: key.get_ref().as_ref(),
            value: value.get_ref(),
            span: value.span(),
        })
    }

    /// The name of the table and its position; without a name the start of the table.
    pub fn name(
        &self,
        what: &str,
        example: &str,
        start: Span,
        findings: &mut Findings,
    ) -> (Option<String>, Span) {
        let Some(field) = self.get("name") else {
            let error = Diagnostic::error(
                Code::MissingKey,
                format!("a {what} has no name"),
                format!("add a name, such as name = \"{example}\""),
            );
            findings.add(error.at(&start, ""));
            return (None, start);
        };
        let example = format!("name = \"{example}\"");
        let name = self.text("name", &example, findings, |text| name::parse(what, text));
        (name, field.span)
    }

    pub fn boolean(&self, key: &str, findings: &mut Findings) -> Option<bool> {
        let field = self.get(key)?;
        let read = match field.value {
            DeValue::Boolean(value) => Ok(*value),
            value => {
                let is_no = matches!(value, DeValue::String(text) if is_no(text));
                Err(field.wrong_type("true or false", &format!("{key} = {}", !is_no)))
            }
        };
        field.settle(read, findings)
    }

    /// One of the words that the key takes; the first is the example.
    pub fn word<T: Copy, const N: usize>(
        &self,
        key: &str,
        choices: &Words<T, N>,
        findings: &mut Findings,
    ) -> Option<T> {
        let example = choices.first().map_or("", |(word, _)| word);
        let example = format!("{key} = \"{example}\"");
        self.text(key, &example, findings, |text| {
            let meant = choices.iter().find(|(word, _)| *word == text);
            let all = || choices.each_ref().map(|(word, _)| *word);
            meant.map_or_else(
                || Err(Fault::not_a_choice(key, text, &all())),
                |(_, value)| Ok(*value),
            )
        })
    }

    /// A number that may have a decimal fraction, as text of plain digits.
    pub fn number<T>(
        &self,
        key: &str,
        example: &str,
        findings: &mut Findings,
        parse: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        let field = self.get(key)?;
        let parsed = match field.value {
            DeValue::Integer(number) => match field.unsigned() {
                Some(plain) => parse(&plain.to_string()),
                None => parse(&number.to_string()),
            },
            DeValue::Float(number) => parse(number.as_str()),
            _ => Err(field.wrong_type("a number", example)),
        };
        field.settle(parsed, findings)
    }

    pub fn text<T>(
        &self,
        key: &str,
        example: &str,
        findings: &mut Findings,
        parse: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        let field = self.get(key)?;
        let parsed = match field.value {
            DeValue::String(text) => parse(text),
            _ => Err(field.wrong_type("text in quotes", example)),
        };
        field.settle(parsed, findings)
    }

    /// Nanoseconds within `range_ns`, and their position.
    pub fn duration(
        &self,
        key: &str,
        example: &str,
        range_ns: RangeInclusive<u64>,
        findings: &mut Findings,
    ) -> Option<(u64, Span)> {
        let span = self.get(key)?.span;
        let example = format!("{key} = \"{example}\"");
        let duration_ns = self.text(key, &example, findings, |text| {
            duration::parse_within(key, text, range_ns)
        })?;
        Some((duration_ns, span))
    }

    /// As [`Section::duration`], or a fraction.
    pub fn exact(
        &self,
        key: &str,
        example: &str,
        range_ns: RangeInclusive<u64>,
        findings: &mut Findings,
    ) -> Option<(ExactTime, Span)> {
        let span = self.get(key)?.span;
        let example = format!("{key} = \"{example}\"");
        let time = self.text(key, &example, findings, |text| {
            exact::parse_within(key, text, range_ns)
        })?;
        Some((time, span))
    }

    pub fn integer(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
        findings: &mut Findings,
    ) -> Option<u64> {
        let field = self.get(key)?;
        let expected = format!("an integer from {} to {}", range.start(), range.end());
        let read = match field.value {
            DeValue::Integer(_) => match field.unsigned() {
                Some(number) if range.contains(&number) => Ok(number),
                _ => Err(Fault::new(
                    Code::OutOfRange,
                    format!("`{key}` is out of range"),
                    format!("`{key}` takes {expected}"),
                )),
            },
            DeValue::String(text) if text.parse().is_ok_and(|number| range.contains(&number)) => {
                Err(field.wrong_type(&expected, &format!("{key} = {text}, without quotes")))
            }
            _ => Err(field.wrong_type(&expected, &format!("{key} = {}", range.start()))),
        };
        field.settle(read, findings)
    }

    /// Text, or an integer where text may be just that integer.
    pub fn text_or_integer<T>(
        &self,
        key: &str,
        example: &str,
        findings: &mut Findings,
        parse: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        let field = self.get(key)?;
        let parsed = match field.value {
            DeValue::String(text) => parse(text),
            DeValue::Integer(number) => match field.unsigned() {
                Some(number) => parse(&number.to_string()),
                None => parse(&number.to_string().to_ascii_lowercase()),
            },
            _ => Err(field.wrong_type("a number or text in quotes", example)),
        };
        field.settle(parsed, findings)
    }

    /// A file's path, as text.
    pub fn path(&self, key: &str, example: &str, findings: &mut Findings) -> Option<PathBuf> {
        let example = format!("{key} = \"{example}\"");
        self.text(key, &example, findings, |text| path::parse(key, text))
    }

    /// A device's name.
    pub fn device(&self, findings: &mut Findings) -> Option<String> {
        self.text("device", "device = \"wlan0\"", findings, |text| {
            device::check(text).map(|()| text.to_owned())
        })
    }

    /// The key has an effect only beside another one, which is missing.
    pub fn refuse_idle(&self, key: &str, beside: &str, findings: &mut Findings) {
        if let Some(field) = self.get(key) {
            let error = Diagnostic::error(
                Code::IdleKey,
                format!("`{key}` does nothing without {beside}"),
                format!("take it out, or add {beside}"),
            );
            findings.add(error.at(&field.span, "for nothing"));
        }
    }
}

/// Whether a word says the same as `false`.
fn is_no(word: &str) -> bool {
    ["false", "no", "off", "0", "never", "none"].contains(&word.to_ascii_lowercase().as_str())
}

/// A required key is missing.
pub(super) fn missing(what: &str, key: &str, example: &str) -> Diagnostic {
    Diagnostic::error(
        Code::MissingKey,
        format!("{what} without `{key}`"),
        format!("add {example}"),
    )
}

impl<'a> Field<'a> {
    fn unsigned(&self) -> Option<u64> {
        match self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        }
    }

    pub fn settle<T>(&self, result: Result<T, Fault>, findings: &mut Findings) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => {
                findings.add(fault.at(&self.span));
                None
            }
        }
    }

    pub fn wrong_type(&self, expected: &str, example: &str) -> Fault {
        wrong_type(self.key, expected, self.value, example)
    }
}

pub(super) fn wrong_type(key: &str, expected: &str, found: &DeValue, example: &str) -> Fault {
    let found = match found {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a floating point number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    Fault::new(
        Code::WrongType,
        format!("`{key}` takes {expected}, not {found}"),
        format!("write it like this: {example}"),
    )
}

fn refuse_key(key: &str, span: &Span, schema: &Schema) -> Diagnostic {
    let all = || format!("a {} has: {}", schema.what, schema.list());
    let help = instead(key, schema).unwrap_or_else(all);
    Diagnostic::error(
        Code::UnknownKey,
        format!("unknown key `{key}` in a {}", schema.what),
        help,
    )
    .at(span, "unknown key")
}

/// What to write instead of a key that a table has not, if it is clear what the key means.
pub(super) fn instead(key: &str, schema: &Schema) -> Option<String> {
    let similar = || closest(key, schema.names());
    let did_you_mean = |meant: &str| format!("did you mean `{meant}`?");
    let Some(place) = schema.place else {
        return similar().map(did_you_mean);
    };
    // A word of another tool is like a key by chance.
    let is_meant = |meant: &&str| folded(meant) == folded(key) || !foreign::is_foreign(key);
    foreign::hint(key, place)
        .or_else(|| place.elsewhere(key))
        .or_else(|| similar().filter(is_meant).map(did_you_mean))
}

//! Errors and warnings about a policy: position, message and fix.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::source::{FloorBoundary, Source, Span, printable};
use crate::value::Fault;
use crate::{Code, render};

/// A longer message is cut.
const MESSAGE_MAX_BYTES: usize = 240;

/// One finding about one position in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The kind of finding: a [`Code`]'s name, or that of a host's refusal.
    pub code: &'static str,
    /// Whether the policy is refused because of it.
    pub severity: Severity,
    /// The error, in a sentence.
    pub message: String,
    /// The sentence that names the fix.
    pub help: String,
    /// The position itself first, then positions that explain it. Empty if it is about the whole
    /// file.
    pub(crate) labels: Vec<Label>,
}

/// Whether a policy is refused for a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The policy is refused.
    Error,
    /// The policy is accepted.
    Warning,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    pub span: Span,
    /// The text of the label; may be empty.
    pub text: String,
}

impl Diagnostic {
    pub(crate) fn error(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Diagnostic::named(code.as_str(), message, help)
    }

    /// An error with a code of the host's.
    pub(crate) fn named(
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: one_line(message.into()),
            help: one_line(help.into()),
            labels: Vec::new(),
        }
    }

    pub(crate) fn warning(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, message, help)
        }
    }

    /// Underlines a position; the first call sets the position of the diagnostic itself.
    pub(crate) fn at(mut self, span: &Span, text: impl Into<String>) -> Self {
        let text = text.into();
        self.labels.push(Label {
            span: span.clone(),
            text,
        });
        self
    }

    /// The byte offset of the diagnostic.
    pub(crate) fn offset(&self) -> usize {
        self.labels.first().map_or(0, |label| label.span.start)
    }
}

impl Fault {
    /// The error of a value at `span`.
    pub(crate) fn at(self, span: &Span) -> Diagnostic {
        Diagnostic::error(self.code, self.message, self.help).at(span, "")
    }
}

/// Messages quote the file, whose strings may contain escapes, line ends, or a megabyte of text.
fn one_line(text: String) -> String {
    let mut text = printable(&text).replace(['\n', '\t'], " ");
    if text.len() > MESSAGE_MAX_BYTES {
        text.truncate(text.floor_boundary(MESSAGE_MAX_BYTES));
        text.push('…');
    }
    text
}

/// All findings about one file, in file order. Never empty when it is returned as an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostics {
    source: Source,
    entries: Vec<Diagnostic>,
    omitted: usize,
}

/// One diagnostic as `--output json` shows it.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    code: &'static str,
    severity: Severity,
    message: &'a str,
    help: &'a str,
    file: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    offending: Option<&'a str>,
}

impl Diagnostics {
    pub(crate) fn new(source: Source, mut entries: Vec<Diagnostic>, omitted: usize) -> Self {
        entries.sort_by_key(Diagnostic::offset);
        Diagnostics {
            source,
            entries,
            omitted,
        }
    }

    /// One more finding about the same file.
    pub(crate) fn add(&mut self, finding: Diagnostic) {
        self.entries.push(finding);
        self.entries.sort_by_key(Diagnostic::offset);
    }

    /// One error about a file as a whole.
    pub(crate) fn of_file(name: &str, error: Diagnostic) -> Self {
        Diagnostics::new(Source::new(name, ""), vec![error], 0)
    }

    /// All of several findings about one file; `None` if there is none.
    pub fn join(several: impl IntoIterator<Item = Diagnostics>) -> Option<Self> {
        let mut several = several.into_iter();
        let first = several.next()?;
        Some(several.fold(first, |mut all, next| {
            all.entries.extend(next.entries);
            Diagnostics::new(all.source, all.entries, all.omitted + next.omitted)
        }))
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// In the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.entries.iter()
    }

    /// As text: each finding with file, line, column, the line itself, the offending text
    /// underlined and the fix.
    pub fn render(&self, color: bool) -> String {
        let mut out = render::render(&self.source, &self.entries, color);
        if self.omitted > 0 {
            out.push_str(&format!("… and {} more.\n", self.omitted));
        }
        out
    }

    /// As JSON: a list of objects with `code`, `severity`, `message`, `help`, `file`, `line`,
    /// `column` and `offending`; the last three are null for a finding about the whole file.
    pub fn to_json(&self) -> serde_json::Value {
        self.entries
            .iter()
            .map(|diagnostic| serde_json::json!(self.entry(diagnostic)))
            .collect()
    }

    fn entry<'a>(&'a self, diagnostic: &'a Diagnostic) -> Entry<'a> {
        let span = diagnostic.labels.first().map(|label| &label.span);
        let at = span.map(|span| self.source.position(self.source.underline(span).start));
        Entry {
            code: diagnostic.code,
            severity: diagnostic.severity,
            message: &diagnostic.message,
            help: &diagnostic.help,
            file: span.map_or(self.source.name(), |span| self.source.file(span.start)),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            offending: span.map(|span| self.source.offending(span)),
        }
    }
}

impl Serialize for Diagnostics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.iter().map(|diagnostic| self.entry(diagnostic)))
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl std::error::Error for Diagnostics {}

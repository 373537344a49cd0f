//! The text of a policy, and the mapping from a byte offset to a file, a line and a column.
//!
//! The text of a directory's files is one text ([`join`]), in which a comment begins each file. So a
//! policy that is kept as text still knows where its lines are from.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Byte offsets into the text.
pub(crate) type Span = Range<usize>;

/// How much of a line is shown on either side of the text in question, in bytes. Generated policies
/// may be a single line.
const SHOWN_AROUND: usize = 70;

/// The longest underline, in bytes.
const UNDERLINE_MAX: usize = 120;

/// A named text with an index of its lines. Cheap to clone: every diagnostic refers to one.
#[derive(Clone, PartialEq)]
pub(crate) struct Source(Arc<Inner>);

#[derive(PartialEq)]
struct Inner {
    name: String,
    text: String,
    /// Of all files together.
    row_starts: Vec<usize>,
    /// In their order; at least one.
    files: Vec<Part>,
}

/// One of a policy's files.
#[derive(PartialEq)]
struct Part {
    name: String,
    /// The row before its first line.
    row: usize,
}

/// Begins the row before a file's first line.
const FILE: &str = "#@ file ";

/// The text of several files.
pub(crate) fn join<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut all = String::new();
    for (name, text) in files {
        let name = printable(name).replace('\n', "?");
        let end = if text.ends_with('\n') { "" } else { "\n" };
        all.push_str(&format!("{FILE}{name}\n{text}{end}"));
    }
    all
}

/// The files of a text: those that it begins with a file's name for, or the one of this name.
fn files(name: &str, text: &str) -> Vec<Part> {
    let part = |row: usize, name: &str| Part {
        name: name.to_owned(),
        row,
    };
    if !text.starts_with(FILE) {
        return vec![part(0, name)];
    }
    let rows = text.lines().enumerate();
    rows.filter_map(|(at, row)| Some(part(at + 1, row.strip_prefix(FILE)?)))
        .collect()
}

/// A position in a text; line and column (in characters) count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub line: usize,
    pub column: usize,
}

impl Source {
    /// Control characters and marks that change the direction of writing are replaced, byte for
    /// byte, so that a policy cannot send escape sequences to the terminal through an error
    /// message.
    pub fn new(name: &str, text: &str) -> Source {
        let text = printable(text).into_owned();
        let name = printable(name).replace('\n', "?");
        let row_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Source(Arc::new(Inner {
            files: files(&name, &text),
            name,
            text,
            row_starts,
        }))
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The file that this is in.
    pub fn file(&self, offset: usize) -> &str {
        &self.part(offset).name
    }

    /// The line in its file, counted from 1. The row that begins a file is none of its lines, and
    /// counts as its first one.
    pub fn line(&self, offset: usize) -> usize {
        let before = self.part(offset).row;
        self.row(offset).saturating_sub(before).max(1)
    }

    /// The line of all files together, counted from 1.
    pub fn row(&self, offset: usize) -> usize {
        self.0.row_starts.partition_point(|&start| start <= offset)
    }

    fn part(&self, offset: usize) -> &Part {
        let row = self.row(offset);
        let files = &self.0.files;
        let next = files.partition_point(|part| part.row < row);
        &files[next.saturating_sub(1)]
    }

    pub fn position(&self, offset: usize) -> Position {
        let offset = self.0.text.floor_boundary(offset);
        let row = self.row(offset);
        let column = self.0.text[self.row_range(row).start..offset]
            .chars()
            .count()
            + 1;
        Position {
            line: self.line(offset),
            column,
        }
    }

    /// The span as it is underlined: within one line and of bounded length.
    pub fn underline(&self, span: &Span) -> Span {
        let text = &self.0.text;
        let mut start = text.floor_boundary(span.start);
        let line = self.row_range(self.row(start));
        if start >= line.end {
            // For a value that is missing at the end of the line: after the last character.
            start = text
                .floor_boundary(line.end.saturating_sub(1))
                .max(line.start);
        }
        if line.is_empty() {
            return start..start;
        }
        let next = start + text[start..].chars().next().map_or(0, char::len_utf8);
        let end = text.floor_boundary(span.end.min(line.end).min(start + UNDERLINE_MAX));
        start..end.max(next)
    }

    /// The text of the span, cut to the underline.
    pub fn offending(&self, span: &Span) -> &str {
        &self.0.text[self.underline(span)]
    }

    /// A row without its end, counted from 1.
    fn row_range(&self, row: usize) -> Span {
        let starts = &self.0.row_starts;
        let start = starts[row.saturating_sub(1).min(starts.len() - 1)];
        let end = starts.get(row).map_or(self.0.text.len(), |next| next - 1);
        let end = start + self.0.text[start..end].trim_end_matches('\r').len();
        start..end
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({}, {} bytes)", self.name(), self.text().len())
    }
}

/// Shows the line of a span, cut to its surroundings if it is long. miette's own implementations
/// for strings count columns in bytes and show lines whole.
impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        _lines_before: usize,
        _lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let text = &self.0.text;
        let end = span.offset() + span.len();
        // miette asks whether it may join two labels in one picture; not if they are far apart.
        if end > text.len() || span.len() > 2 * SHOWN_AROUND {
            return Err(MietteError::OutOfBounds);
        }
        let at = self.position(span.offset());
        let first = self.row_range(self.row(span.offset())).start;
        let last = self.row_range(self.row(end)).end;
        let from = text.floor_boundary(first.max(span.offset().saturating_sub(SHOWN_AROUND)));
        let to = text.floor_boundary(last.min(end + SHOWN_AROUND)).max(end);
        Ok(Box::new(MietteSpanContents::new_named(
            self.file(span.offset()).to_owned(),
            &text.as_bytes()[from..to],
            (from, to - from).into(),
            at.line.saturating_sub(1),
            at.column - 1,
            1,
        )))
    }
}

pub(crate) trait FloorBoundary {
    /// The largest character boundary not after `offset`.
    fn floor_boundary(&self, offset: usize) -> usize;
}

impl FloorBoundary for str {
    fn floor_boundary(&self, offset: usize) -> usize {
        let mut at = offset.min(self.len());
        while !self.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let ends_line = |at: usize| text.as_bytes().get(at + 1) == Some(&b'\n');
    let is_harmful = |at: usize, c: char| match c {
        '\n' | '\t' => false,
        '\r' => !ends_line(at),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    };
    if !text.char_indices().any(|(at, c)| is_harmful(at, c)) {
        return Cow::Borrowed(text);
    }
    text.char_indices()
        .map(|(at, c)| match (is_harmful(at, c), c.len_utf8()) {
            (false, _) => c,
            (true, 1) => '?',
            (true, 2) => '¿',
            (true, _) => char::REPLACEMENT_CHARACTER,
        })
        .collect::<String>()
        .into()
}

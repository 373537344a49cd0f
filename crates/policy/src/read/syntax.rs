//! TOML's own errors in the form of the policy's.

use std::collections::HashSet;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::source::{Source, Span};

/// Reports one error per line: further ones in the same line are mostly consequences.
pub(super) fn report(errors: &[toml::de::Error], source: &Source, findings: &mut Findings) {
    let mut lines_seen = HashSet::new();
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let line = source.row(span.start);
        if lines_seen.insert(line) {
            findings.add(explain(error.message(), &span, source.text()));
        }
    }
}

fn explain(message: &str, span: &Span, text: &str) -> Diagnostic {
    let line_start = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let word = bare_word(text, span.start);
    let error = |message: String, help: &str| Diagnostic::error(Code::Syntax, message, help);

    if is_unquoted(text, line_start, &word, message) {
        let word_text = &text[word.clone()];
        let help = format!("text needs quotes: \"{word_text}\"");
        return error(format!("`{word_text}` is no TOML value"), &help).at(&word, "needs quotes");
    }
    if line.trim_end().ends_with('=') {
        let end = line_start + line.trim_end().len();
        return error(
            "a key has no value".to_owned(),
            "write the value after the `=`, text in quotes",
        )
        .at(&(end - 1..end), "nothing follows");
    }
    let help = if message.starts_with("duplicate key") {
        "each key and each table header may stand once; classes are lists: [[link.DEV.class]], with \
         two brackets"
    } else if message.contains("missing comma") {
        "put a comma between the entries of a list or an inline table, and a bracket after the last"
    } else if message.contains("unclosed") || message.contains("expected `\"`") {
        "close the bracket or the quote before the end of the line"
    } else {
        "a line is a [table], a [[list.entry]] or a `key = value` pair; https://toml.io has the rules"
    };
    error(format!("this is not TOML: {message}"), help).at(span, "here")
}

/// Whether `word` is in the position of a value and was meant as text: `rate = 25mbit`.
fn is_unquoted(text: &str, line_start: usize, word: &Span, message: &str) -> bool {
    let before = text[line_start.min(word.start)..word.start].trim_end();
    let is_value = before.ends_with('=') || (before.contains('=') && before.ends_with(['[', ',']));
    let is_other_error = [
        "duplicate key",
        "missing comma",
        "extra assignment",
        "unclosed",
    ]
    .iter()
    .any(|start| message.starts_with(start));
    is_value && !is_other_error && !word.is_empty() && !text[word.clone()].contains(['"', '\''])
}

/// The run of characters around `at` that could have been meant as one value.
fn bare_word(text: &str, at: usize) -> Span {
    let ends_word = |c: char| c.is_whitespace() || "=,[]{}#".contains(c);
    let start = text[..at]
        .char_indices()
        .rfind(|(_, c)| ends_word(*c))
        .map_or(0, |(before, c)| before + c.len_utf8());
    let end = text[at..]
        .find(ends_word)
        .map_or(text.len(), |len| at + len);
    start..end
}

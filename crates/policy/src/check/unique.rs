//! Names that must be unique.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::source::Span;

/// A name, its position, and the line of its table.
type Named<'a> = (&'a str, &'a Span, usize);

/// `error` gets the name and the line of its first use.
pub(super) fn check_unique<'a>(
    named: impl Iterator<Item = Named<'a>>,
    findings: &mut Findings,
    error: impl Fn(&str, usize) -> Diagnostic,
) {
    let mut first_by_name = HashMap::new();
    for (name, span, line) in named {
        let (first_span, first_line) = *first_by_name.entry(name).or_insert((span, line));
        if first_span != span {
            findings.add(
                error(name, first_line)
                    .at(span, "again here")
                    .at(first_span, "first here"),
            );
        }
    }
}

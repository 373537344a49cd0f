//! Match entries that match no packet, because an earlier entry covers them.
//!
//! An entry covered by one earlier entry is found; one that only several together cover is not.

use super::tuple_space::TupleSpace;
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadLink, ReadMatch};
use crate::source::Source;

/// Comparisons per link, a lookup counting for several; a few tenths of a second.
const BUDGET: u64 = 16_000_000;

pub(super) fn check(link: &ReadLink, source: &Source, findings: &mut Findings) {
    let entries: Vec<(usize, &ReadMatch)> = link
        .classes
        .iter()
        .enumerate()
        .flat_map(|(class, read)| read.matches.iter().map(move |entry| (class, entry)))
        .collect();
    let mut earlier = TupleSpace::new(BUDGET);
    for (number, (class, entry)) in entries.iter().enumerate() {
        let Some(covering) = earlier.first_covering(&entry.terms) else {
            earlier.insert(number, &entry.terms);
            continue;
        };
        if link.classes[*class].is_of_preset {
            continue; // The link's own classes come first.
        }
        // The covering entry covers everything that this one covers, so this one is not kept.
        let (by_class, by_entry) = entries[covering];
        let by_name = link.classes[by_class].shown_name();
        let name = link.classes[*class].shown_name();
        findings.add(if by_class == *class {
            redundant(name, entry, by_entry)
        } else {
            unreachable(name, entry, by_name, by_entry, source)
        });
    }
    if earlier.is_exhausted() {
        findings.add(not_fully_checked(link));
    }
}

fn unreachable(
    name: &str,
    entry: &ReadMatch,
    by_name: &str,
    by_entry: &ReadMatch,
    source: &Source,
) -> Diagnostic {
    let by_line = source.line(by_entry.span.start);
    let (code, message, help) = if entry.terms == by_entry.terms {
        (
            Code::DuplicateMatch,
            format!("`{name}` matches exactly the same as class `{by_name}` in line {by_line}"),
            "remove one of the two, or add what tells their traffic apart",
        )
    } else {
        (
            Code::CoveredMatch,
            format!(
                "this can never match: class `{by_name}` in line {by_line} takes all of it first"
            ),
            "the first match in the file wins; put the narrower class first",
        )
    };
    Diagnostic::error(code, message, help)
        .at(&entry.span, format!("no packet gets to `{name}` by this"))
        .at(&by_entry.span, format!("`{by_name}` takes it here"))
}

fn redundant(name: &str, entry: &ReadMatch, by_entry: &ReadMatch) -> Diagnostic {
    Diagnostic::warning(
        Code::RedundantMatch,
        format!("this changes nothing: an earlier entry of `{name}` holds for all of it"),
        "remove it, or correct it if it was meant to say something else",
    )
    .at(&entry.span, "holds for nothing more")
    .at(&by_entry.span, "than this")
}

fn not_fully_checked(link: &ReadLink) -> Diagnostic {
    Diagnostic::warning(
        Code::NotFullyChecked,
        format!(
            "{} has too many different matches to compare them all",
            link.device
        ),
        "nothing to do, but matches covered by an earlier class may not be reported",
    )
    .at(&link.device_span, "in this link")
}

//! A policy asks a bounded number of questions about sockets' owners.

use std::collections::{BTreeMap, HashSet};

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadLink, ReadMatch};
use crate::source::Span;
use crate::{Code, QUESTIONS_MAX, User};

pub(super) fn check(links: &[ReadLink], findings: &mut Findings) {
    let mut asked = HashSet::new();
    let mut excess = None;
    for entry in matches(links) {
        asked.extend(entry.terms.questions());
        if asked.len() > QUESTIONS_MAX {
            excess = excess.or(Some(&entry.span));
        }
    }
    if let Some(span) = excess {
        let error = Diagnostic::error(
            Code::TooManyQuestions,
            format!(
                "the policy asks for {} different apps, users, cgroups and units; {QUESTIONS_MAX} \
                 are possible, over all links",
                asked.len()
            ),
            "collect programs in a cgroup or a systemd slice and match that",
        );
        findings.add(error.at(span, "the first one too many"));
    }
}

/// The first position of each user that goes by name, which only the host can resolve.
pub(in crate::check) fn users(links: &[ReadLink]) -> BTreeMap<String, Span> {
    let mut spans = BTreeMap::new();
    for entry in matches(links) {
        if let Some(User::Name(name)) = &entry.terms.user {
            spans
                .entry(name.clone())
                .or_insert_with(|| entry.span.clone());
        }
    }
    spans
}

fn matches(links: &[ReadLink]) -> impl Iterator<Item = &ReadMatch> {
    links
        .iter()
        .flat_map(|link| &link.classes)
        .flat_map(|class| &class.matches)
}

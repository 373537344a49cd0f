//! A policy asks a bounded number of questions about sockets' owners.

use std::collections::HashSet;

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::ReadLink;
use crate::{Code, QUESTIONS_MAX};

pub(super) fn check(links: &[ReadLink], findings: &mut Findings) {
    let mut asked = HashSet::new();
    let mut excess = None;
    for entry in links
        .iter()
        .flat_map(|link| &link.classes)
        .flat_map(|class| &class.matches)
    {
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

//! Which threads the members of a task are.

use crate::read::ReadTask;
use crate::{Member, ThreadMatch};

/// In the order of hand-off; a single thread is the only one.
pub(super) fn members(task: &ReadTask) -> Vec<Member> {
    let terms = task.matches.as_ref().map(|matches| &matches.terms);
    let named = |name: &str| ThreadMatch {
        thread: Some(name.to_owned()),
        ..terms.cloned().unwrap_or_default()
    };
    match (&task.members, terms) {
        (Some(members), _) => members
            .iter()
            .map(|(name, _)| Member {
                name: name.clone(),
                matches: named(name),
            })
            .collect(),
        (None, terms) => vec![Member {
            name: task.shown_name().to_owned(),
            matches: terms.cloned().unwrap_or_else(|| named(task.shown_name())),
        }],
    }
}

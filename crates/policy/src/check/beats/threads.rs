//! The threads of the tasks' members, and that no two members are the same thread.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::ReadTask;
use crate::source::{FloorBoundary, Span};
use crate::value::owner::COMM_MAX_BYTES;
use crate::{Code, Member, ThreadMatch};

pub(super) fn check(tasks: &[ReadTask], findings: &mut Findings) {
    for task in tasks {
        check_group(task, findings);
        check_name(task, findings);
    }
    check_distinct(tasks, findings);
}

/// In a group the members' names are the threads' names.
fn check_group(task: &ReadTask, findings: &mut Findings) {
    let matches = task.matches.as_ref().filter(|_| task.members.is_some());
    if let Some(span) = matches.and_then(|matches| matches.thread_span.as_ref()) {
        let error = Diagnostic::error(
            Code::GroupThread,
            format!(
                "task `{}` is a group, whose threads go by their names",
                task.shown_name()
            ),
            "take thread out of the match; the names in members are those of the threads",
        );
        findings.add(error.at(span, "not in a group"));
    }
}

/// Without a match the task's name is that of its thread, which is shorter.
fn check_name(task: &ReadTask, findings: &mut Findings) {
    if task.members.is_some() || task.has_match {
        return;
    }
    let Some(name) = &task.name else {
        return;
    };
    if name.len() > COMM_MAX_BYTES {
        let kept = &name[..name.floor_boundary(COMM_MAX_BYTES)];
        let error = Diagnostic::error(
            Code::BadOwner,
            format!("no thread can have the name of task `{name}`: it is longer than 15 bytes"),
            format!("say which thread it is: match = {{ thread = \"{kept}\" }}"),
        );
        findings.add(error.at(&task.span, "also the thread's name"));
    }
}

/// A member, its task, and the position of its name or match.
type Claim<'a> = (Member, &'a ReadTask, &'a Span);

fn check_distinct(tasks: &[ReadTask], findings: &mut Findings) {
    let mut first_by_match: HashMap<ThreadMatch, Claim> = HashMap::new();
    for (member, task, span) in tasks.iter().flat_map(claims) {
        let Some((first, first_task, first_span)) = first_by_match.get(&member.matches) else {
            first_by_match.insert(member.matches.clone(), (member, task, span));
            continue;
        };
        let is_same = std::ptr::eq(task, *first_task);
        if task.name == first_task.name && !is_same {
            continue; // Two tasks of one name have been reported.
        }
        let (problem, help) = if is_same {
            (
                format!(
                    "task `{}` has two members named `{}`",
                    task.shown_name(),
                    first.name
                ),
                "give each of its threads a name of its own: pthread_setname_np(), or prctl(2) with \
                 PR_SET_NAME",
            )
        } else {
            (
                format!(
                    "tasks `{}` and `{}` would take the same thread",
                    first_task.shown_name(),
                    task.shown_name()
                ),
                "add what tells their threads apart to the matches: thread, command, cgroup or unit",
            )
        };
        let error = Diagnostic::error(Code::DuplicateThread, problem, help);
        findings.add(error.at(span, "again here").at(first_span, "first here"));
    }
}

/// Of a task without errors.
fn claims(task: &ReadTask) -> Vec<Claim<'_>> {
    if task.name.is_none() || task.has_match != task.matches.is_some() {
        return Vec::new();
    }
    let spans: Vec<&Span> = match (&task.members, &task.matches) {
        (Some(members), _) => members.iter().map(|(_, span)| span).collect(),
        (None, Some(matches)) => vec![&matches.span],
        (None, None) => vec![&task.span],
    };
    let members = members(task).into_iter().zip(spans);
    members.map(|(member, span)| (member, task, span)).collect()
}

/// In the order of hand-off; a single thread is the only one.
pub(super) fn members(task: &ReadTask) -> Vec<Member> {
    let terms = task.matches.as_ref().map(|matches| &matches.terms);
    let named = |name: &str| ThreadMatch {
        thread: Some(name.to_owned()),
        ..terms.cloned().unwrap_or_default()
    };
    let name = task.shown_name();
    match &task.members {
        Some(members) => members
            .iter()
            .map(|(name, _)| Member {
                name: name.clone(),
                matches: named(name),
            })
            .collect(),
        None => vec![Member {
            name: name.to_owned(),
            matches: terms.cloned().unwrap_or_else(|| named(name)),
        }],
    }
}

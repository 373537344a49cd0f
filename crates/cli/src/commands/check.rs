use std::path::Path;

use serde_json::json;
use takt_planner::backend::Kernel;
use takt_policy::Policy;

use crate::{
    args::Output,
    commands::{
        backends::Backends,
        costs,
        keys::{self, Unreadable},
    },
    exit::Exit,
    print::{self, count},
    refusal,
};

pub fn run(file: &Path, kernel: Option<Kernel>, explain: bool, output: Output) -> Exit {
    let mut policy = match takt_policy::load(file) {
        Ok(loaded) => loaded.policy,
        Err(found) => return print::diagnostics(output, &found),
    };
    if let Some(failure) = refusal::anywhere(&policy) {
        return print::refused(output, failure);
    }
    match keys::check(&mut policy, Unreadable::Warned) {
        Err(found) => print::diagnostics(output, &found),
        Ok(()) => {
            costs::warn(&mut policy);
            if output == Output::Text {
                print::warnings(&policy.warnings);
            }
            let backends = match kernel {
                Some(kernel) => Some(Backends::on(&policy, kernel)),
                None => explain.then(|| Backends::here(&policy)),
            };
            let are_found = backends.as_ref().is_none_or(Backends::are_found);
            let value = json!({
                "ok": are_found,
                "warnings": policy.warnings,
                "links": policy.links,
                "radio": policy.radio,
                "crowd": policy.crowd,
                "beats": policy.beats,
                "backends": backends,
            });
            print::result(output, &value, |_| {
                let valid = format!("{}: valid, {}\n", file.display(), contents(&policy));
                let told = backends.as_ref().map(|told| {
                    if explain || !are_found {
                        told.text()
                    } else {
                        told.not_tried()
                    }
                });
                valid + &told.unwrap_or_default()
            });
            if are_found { Exit::Done } else { Exit::Lacking }
        }
    }
}

/// Such as `2 links with 3 classes and 1 task`; of a client, `a station's reports`; of a terminal,
/// `bounds of a crowd`.
fn contents(policy: &Policy) -> String {
    let links = policy.links.len();
    let classes = policy.links.iter().map(|link| link.classes.len()).sum();
    let tasks = policy.beats.as_ref().map_or(0, |beats| beats.tasks.len());
    let reports = policy
        .radio
        .as_ref()
        .is_some_and(|radio| radio.report.is_some());
    let crowd = policy.crowd.is_some();
    let links = (links > 0 || (tasks == 0 && !reports && !crowd)).then(|| {
        let links = count(links, "link", "links");
        format!("{links} with {}", count(classes, "class", "classes"))
    });
    let tasks = (tasks > 0).then(|| count(tasks, "task", "tasks"));
    let reports = reports.then(|| "a station's reports".to_owned());
    let crowd = crowd.then(|| "bounds of a crowd".to_owned());
    let parts = [links, tasks, reports, crowd];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_counted() {
        // Besides the declared classes there is the default class.
        let link = "[link.a]\nrate = \"1mbit\"\n";
        let task =
            |name| format!("[[task]]\nname = \"{name}\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n");
        for (text, said) in [
            (link.to_owned(), "1 link with 1 class"),
            (task("a"), "1 task"),
            (
                "[radio]\nreport_to = \"192.0.2.1:7641\"\ndevice = \"a\"\nkey_file = \"k\"\n"
                    .to_owned(),
                "a station's reports",
            ),
            (
                "[crowd]\ngroup = \"lab\"\nkey_file = \"k\"\ndevice = \"a\"\n".to_owned(),
                "bounds of a crowd",
            ),
            (
                format!("{link}{}{}", task("a"), task("b")),
                "1 link with 1 class and 2 tasks",
            ),
        ] {
            let policy = takt_policy::parse("test", &text).expect("a policy");
            assert_eq!(contents(&policy), said);
        }
    }
}

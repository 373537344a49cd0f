use std::{
    io::{self, Write},
    path::Path,
    time::Duration,
};

use serde_json::json;
use takt_kernel::{Action, BeatsAction, CrowdAction, Options, Source};
use takt_policy::Policy;

use crate::{
    args::Output,
    commands::{
        confirm::{self, Guard},
        keys::{self, Unreadable},
    },
    exit::Exit,
    print, refusal,
};

pub fn run(file: &Path, options: Options, confirm: Option<Duration>, output: Output) -> Exit {
    let (text, mut policy) = match takt_policy::load(file) {
        Ok(loaded) => loaded,
        Err(found) => return print::diagnostics(output, &found),
    };
    if let Some(failure) = refusal::anywhere(&policy) {
        return print::refused(output, failure);
    }
    if let Err(error) = takt_kernel::require() {
        return print::refused(output, &error);
    }
    if let Err(found) = keys::check(&mut policy, Unreadable::Refused) {
        return print::diagnostics(output, &found);
    }
    if output == Output::Text {
        print::warnings(&policy.warnings);
    }
    let source = Source {
        name: file.display().to_string(),
        text,
        folder: takt_policy::folder_of(file),
    };
    let Some(patience) = confirm else {
        return apply(&policy, &source, options, output);
    };
    let guard = match Guard::start() {
        Ok(guard) => guard,
        Err(error) => return print::failure(output, Exit::Failed, &error),
    };
    let exit = apply(&policy, &source, options, output);
    if exit != Exit::Done {
        // Nothing was changed, so there is nothing to restore.
        guard.dismiss();
        return exit;
    }
    let _ = writeln!(
        io::stderr(),
        "Press Enter within {} s to keep this policy.",
        patience.as_secs()
    );
    if confirm::asked(patience) {
        return guard.dismiss();
    }
    let message = match guard.release() {
        true => "not confirmed: what was there before is restored",
        false => "not confirmed, and restoring what was there before failed; see `takt status`",
    };
    print::failure(output, Exit::Failed, &message)
}

fn apply(policy: &Policy, source: &Source, options: Options, output: Output) -> Exit {
    match takt_kernel::apply(policy, source, options) {
        Err(error) => print::refused(output, refusal::of(policy, &error)),
        Ok(applied) => {
            let value = json!({
                "dry_run": options.dry_run,
                "links": applied.links,
                "beats": applied.beats,
                "radio": applied.radio,
                "crowd": applied.crowd,
            });
            print::result(output, &value, |_| {
                let lines = applied.links.iter().map(|outcome| {
                    let action = describe(outcome.action, options.dry_run);
                    let receive = outcome.receive.as_ref().map_or_else(String::new, |device| {
                        format!(", incoming background traffic through {device}")
                    });
                    format!("{}: {action}{receive}\n", outcome.device)
                });
                let tasks = policy.beats.as_ref().map_or(0, |beats| beats.tasks.len());
                let tasks = match tasks {
                    0 => String::new(),
                    tasks => format!(", {}", print::count(tasks, "task", "tasks")),
                };
                let beats = applied.beats.map(|action| {
                    let action = describe_beats(action, options.dry_run);
                    format!("beats: {action}{tasks}\n")
                });
                let radio = applied.radio.then(|| match options.dry_run {
                    false => "radio: taktd sees to it while it runs\n".to_owned(),
                    true => "radio: taktd would see to it while it runs\n".to_owned(),
                });
                let crowd = applied.crowd.map(|action| {
                    let action = describe_crowd(action, options.dry_run);
                    format!("crowd: {action}\n")
                });
                lines.chain(beats).chain(radio).chain(crowd).collect()
            });
            Exit::Done
        }
    }
}

/// What was done to the scheduler, or would be.
pub fn describe_beats(action: BeatsAction, dry_run: bool) -> &'static str {
    match (action, dry_run) {
        (BeatsAction::Loaded, false) => "the scheduler is loaded",
        (BeatsAction::Loaded, true) => "the scheduler would be loaded",
        (BeatsAction::Updated, false) => "updated",
        (BeatsAction::Updated, true) => "would be updated",
        (BeatsAction::Unloaded, false) => "the scheduler is unloaded",
        (BeatsAction::Unloaded, true) => "the scheduler would be unloaded",
        (BeatsAction::Unchanged, _) => "unchanged",
    }
}

/// What was done to congestion windows, or would be.
pub fn describe_crowd(action: CrowdAction, dry_run: bool) -> &'static str {
    match (action, dry_run) {
        (CrowdAction::Joined, false) => "joined; taktd sees to its reports while it runs",
        (CrowdAction::Joined, true) => "would be joined",
        (CrowdAction::Updated, false) => "updated",
        (CrowdAction::Updated, true) => "would be updated",
        (CrowdAction::Left, false) => "left; flows go on without bounds",
        (CrowdAction::Left, true) => "would be left",
        (CrowdAction::Unchanged, _) => "unchanged",
    }
}

fn describe(action: Action, dry_run: bool) -> &'static str {
    match (action, dry_run) {
        (Action::Attached, false) => "attached",
        (Action::Attached, true) => "would be attached",
        (Action::Updated, false) => "updated",
        (Action::Updated, true) => "would be updated",
        (Action::Detached, false) => "given back",
        (Action::Detached, true) => "would be given back",
        (Action::Unchanged, _) => "unchanged",
    }
}

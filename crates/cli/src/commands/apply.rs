mod difference;
mod values;

use std::{path::Path, time::Duration};

use serde_json::json;
use takt_host::{
    Action, Applied, BeatsAction, CrowdAction, Displaced, Displacement, Options, Source,
};
use takt_policy::{Backend, Loaded, Policy, parse_in};

use self::difference::{Change, difference};
use crate::{
    args::Output,
    commands::{
        costs,
        keys::{self, Unreadable},
        trial,
    },
    exit::Exit,
    print, refusal,
};

/// Of a kernel whose realtime threads may leave other threads no time.
const WATCHED: &str = "beats: a realtime thread that never sleeps ends the scheduler, since this kernel has no ext_server\n";

const HANDED_OVER: &str = "handed over from the programs of another version of takt\n";

const WOULD_HAND_OVER: &str = "would be handed over from the programs of another version of takt\n";

const UNREADABLE: &str =
    "the policy in force is of another version of takt: no difference can be shown\n";

pub fn run(file: &Path, options: Options, confirm: Option<Duration>, output: Output) -> Exit {
    let Loaded {
        name,
        text,
        folder,
        mut policy,
    } = match takt_policy::load(file) {
        Ok(loaded) => loaded,
        Err(found) => return print::diagnostics(output, &found),
    };
    if let Some(failure) = refusal::anywhere(&policy) {
        return print::refused(output, failure);
    }
    if let Err(error) = takt_host::require() {
        return print::refused(output, &error);
    }
    if let Err(found) = keys::check(&mut policy, Unreadable::Refused) {
        return print::diagnostics(output, &found);
    }
    costs::warn(&mut policy);
    if output == Output::Text {
        print::warnings(&policy.warnings);
    }
    let source = Source { name, text, folder };
    let done = match confirm {
        None => takt_host::apply(&policy, &source, options).map(|applied| (applied, None)),
        Some(patience) => trial::begin(&policy, &source, options, patience)
            .map(|(applied, trial)| (applied, Some(trial))),
    };
    match done {
        Err(error) => print::refused(output, refusal::of(&policy, &error)),
        Ok((applied, _)) if options.dry_run => match would_change(&policy, &applied) {
            Err(error) => print::refused(output, &error),
            Ok(changes) => {
                show(&policy, &applied, Planned::Yes(changes), output);
                Exit::Done
            }
        },
        Ok((applied, trial)) => {
            show(&policy, &applied, Planned::No, output);
            let decided = trial.map_or(Exit::Done, |trial| trial.decide(output));
            match decided {
                Exit::Done if !applied.foreign.is_empty() => Exit::Changed,
                decided => decided,
            }
        }
    }
}

/// Whether the changes are planned only, and the difference to the policy in force, if that one
/// can be read.
enum Planned {
    No,
    Yes(Option<Vec<Change>>),
}

/// The difference to the policy in force. `None`: another takt applied that, and this one cannot
/// read it.
fn would_change(
    policy: &Policy,
    applied: &Applied,
) -> Result<Option<Vec<Change>>, takt_host::Error> {
    if applied.handed_over {
        return Ok(None);
    }
    let kernel = takt_host::kernel();
    let Some(source) = takt_host::applied_policy()? else {
        return Ok(Some(difference(None, policy, &kernel)));
    };
    let before = parse_in(&source.folder, &source.name, &source.text);
    Ok(before
        .ok()
        .map(|before| difference(Some(&before), policy, &kernel)))
}

fn show(policy: &Policy, applied: &Applied, planned: Planned, output: Output) {
    let dry_run = matches!(planned, Planned::Yes(_));
    let mut value = json!({
        "dry_run": dry_run,
        "links": applied.links,
        "beats": applied.beats,
        "displaced": applied.displaced,
        "radio": applied.radio,
        "crowd": applied.crowd,
        "handed_over": applied.handed_over,
    });
    print::note_foreign(&mut value, &applied.foreign);
    let difference = match planned {
        Planned::No => String::new(),
        Planned::Yes(changes) => {
            value["difference"] = json!(changes);
            match changes {
                Some(changes) => difference::text(&changes),
                None => UNREADABLE.to_owned(),
            }
        }
    };
    print::result(output, &value, |_| {
        let handed_over = applied.handed_over.then(|| {
            if dry_run {
                WOULD_HAND_OVER.to_owned()
            } else {
                HANDED_OVER.to_owned()
            }
        });
        let lines = applied.links.iter().map(|outcome| {
            let action = describe(outcome.action, dry_run);
            let receive = outcome.receive.as_ref().map_or_else(String::new, |device| {
                format!(", incoming background traffic through {device}")
            });
            let backend = match outcome.backend {
                Backend::Takt => String::new(),
                other => format!(" ({})", other.name()),
            };
            let without_ip = if outcome.without_ip {
                format!("{}: {}\n", outcome.device, print::WITHOUT_IP)
            } else {
                String::new()
            };
            let opaque = if outcome.opaque.is_empty() {
                String::new()
            } else {
                format!("{}: {}", outcome.device, print::opaque(&outcome.opaque))
            };
            format!(
                "{}: {action}{backend}{receive}\n{without_ip}{opaque}",
                outcome.device
            )
        });
        let tasks = policy.beats.as_ref().map_or(0, |beats| beats.tasks.len());
        let tasks = match tasks {
            0 => String::new(),
            tasks => format!(", {}", print::count(tasks, "task", "tasks")),
        };
        let beats = applied.beats.map(|action| {
            let action_loads = action == BeatsAction::Loaded;
            let action = describe_beats(action, dry_run);
            let watched = if action_loads && !takt_host::doctor::has_ext_server() {
                WATCHED
            } else {
                ""
            };
            format!("beats: {action}{tasks}\n{watched}")
        });
        let displaced = applied
            .displaced
            .iter()
            .map(|task| describe_displaced(task, dry_run));
        let radio = applied.radio.then(|| {
            if dry_run {
                "radio: taktd would manage it while it runs\n".to_owned()
            } else {
                "radio: taktd manages it while it runs\n".to_owned()
            }
        });
        let crowd = applied.crowd.map(|action| {
            let action = describe_crowd(action, dry_run);
            format!("crowd: {action}\n")
        });
        let not_restored = applied.foreign.iter().map(|foreign| format!("{foreign}\n"));
        handed_over
            .into_iter()
            .chain(lines)
            .chain(not_restored)
            .chain(beats)
            .chain(displaced)
            .chain(radio)
            .chain(crowd)
            .chain([print::more_of(&applied.foreign)])
            .chain([difference])
            .collect()
    });
}

/// The changes of the scheduler, done or planned.
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

/// What happens to a task that had joined at run time.
fn describe_displaced(task: &Displaced, dry_run: bool) -> String {
    let done = match (task.outcome, dry_run) {
        (Displacement::Moved, false) => "moved",
        (Displacement::Moved, true) => "would be moved",
        (Displacement::SentAway, false) => "sent away",
        (Displacement::SentAway, true) => "would be sent away",
    };
    let threads: Vec<String> = task.threads.iter().map(u32::to_string).collect();
    let threads = match threads.as_slice() {
        [] => String::new(),
        [one] => format!(" (thread {one})"),
        _ => format!(" (threads {})", threads.join(", ")),
    };
    format!(
        "beats: `{}` of user {}{threads} {done}: {}\n",
        task.task, task.user, task.reason
    )
}

/// The changes of congestion windows, done or planned.
pub fn describe_crowd(action: CrowdAction, dry_run: bool) -> &'static str {
    match (action, dry_run) {
        (CrowdAction::Joined, false) => "joined; taktd sends its reports while it runs",
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

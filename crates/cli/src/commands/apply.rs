use std::path::Path;

use serde_json::json;
use takt_kernel::{Action, Options, Source, Undecided};
use takt_policy::{Code, Policy};

use crate::{args::Output, exit::Exit, print};

pub fn run(file: &Path, options: Options, output: Output) -> Exit {
    let (text, policy) = match takt_policy::load(file) {
        Ok(loaded) => loaded,
        Err(found) => return print::diagnostics(output, &found),
    };
    if output == Output::Text {
        print::warnings(&policy.warnings);
    }
    let source = Source {
        name: file.display().to_string(),
        text,
    };
    match takt_kernel::apply(&policy.links, &source, options) {
        Err(error) => refuse(&policy, &error, output),
        Ok(outcomes) => {
            let value = json!({ "dry_run": options.dry_run, "links": outcomes });
            print::result(output, &value, |_| {
                let lines = outcomes.iter().map(|outcome| {
                    let action = describe(outcome.action, options.dry_run);
                    format!("{}: {action}\n", outcome.device)
                });
                lines.collect()
            });
            Exit::Done
        }
    }
}

/// What the policy is to blame for is shown at its place in the policy.
fn refuse(policy: &Policy, error: &Undecided, output: Output) -> Exit {
    let found = match error {
        Undecided::NoDevice { device } => policy.device_error(
            device,
            Code::DeviceMissing,
            error.to_string(),
            "`ip link` lists the devices of this network namespace",
        ),
        Undecided::Plan { device, problem } => policy.device_error(
            device,
            Code::DeviceTaken,
            error.to_string(),
            problem.to_string(),
        ),
        Undecided::Host(error) => return print::failure(output, error.into(), error),
    };
    print::diagnostics(output, &found)
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

//! Commands that sign.

use std::time::Instant;

use serde_json::json;
use takt_fleet::{
    beside::beside,
    check,
    operator::{Ended, Error, Operator, Progress, Push},
    revision::Plan,
    selector::Selector,
};

use super::{
    args::{self, Common, Output},
    exit::Exit,
    fail, operator, print,
};

pub async fn run(common: &Common, push: args::Push) -> Result<Exit, Error> {
    let output = common.output;
    let loaded = match &push.policy {
        None => None,
        Some(path) if path.as_os_str() == "-" => {
            let told = "only a file or a directory can be pushed";
            return Ok(fail(output, Exit::Invalid, &told));
        }
        Some(path) => match takt_policy::load(path) {
            Ok(loaded) => Some(loaded),
            Err(found) => {
                match output {
                    Output::Text => eprint!("{}", found.render(false)),
                    Output::Json => {
                        let value = json!({ "ok": false, "errors": found.to_json() });
                        print(output, &value, String::new);
                    }
                }
                return Ok(Exit::Invalid);
            }
        },
    };
    let given = push.policy.as_ref().zip(loaded.as_ref());
    // What needs no host is looked at first.
    if let Some(((path, loaded), traffic)) = given.zip(push.traffic.as_ref()) {
        let simulated = check::simulate(&beside("takt-sim"), path, &loaded.policy, traffic);
        if let Err(unfit) = simulated {
            return Ok(fail(output, Exit::from(&unfit), &unfit));
        }
    }
    let mut operator = operator(common, true).await?;
    let roster = operator.fresh_roster().await?;
    if let Some(path) = &push.policy {
        match check::kernels(&beside("takt"), path, &push.to, &roster) {
            Err(unfit) => return Ok(fail(output, Exit::from(&unfit), &unfit)),
            Ok(kernels) if output == Output::Text && !kernels.is_empty() => {
                println!("checked for {}", kernels.join(", "));
            }
            Ok(_) => {}
        }
    }
    let asked = Push {
        policy: loaded.map(|loaded| loaded.text),
        to: push.to.clone(),
        hold: push.hold,
        health: push.health,
        plan: Plan {
            canary_ppm: push.canary,
            step_ppm: push.step,
            grace_ms: push.grace.as_millis() as u64,
            tolerated_ppm: push.tolerate,
        },
        unseen: push.unseen,
        note: push.note,
    };
    let (current, to) = operator.push(&asked, &roster).await?;
    let number = current.revision.number;
    if output == Output::Text {
        println!("revision {number} is signed for {to}");
    }
    if push.detach || push.unseen {
        let value = json!({ "ok": true, "revision": number, "to": to, "ended": null });
        print(output, &value, || {
            format!("takt fleet resume --to '{to}' continues after the first wave\n")
        });
        return Ok(Exit::Done);
    }
    drive(&mut operator, &to, output).await
}

pub async fn resume(common: &Common, to: Option<&Selector>) -> Result<Exit, Error> {
    let mut operator = operator(common, false).await?;
    let current = operator.current().await?;
    let to = Operator::named(&current.revision, to)?;
    let is_paused = current
        .revision
        .assignments
        .iter()
        .any(|own| own.to == to && own.paused);
    if is_paused {
        operator.pause(&to, false).await?;
    }
    drive(&mut operator, &to, common.output).await
}

pub async fn pause(common: &Common, to: Option<&Selector>) -> Result<Exit, Error> {
    let mut operator = operator(common, false).await?;
    let current = operator.current().await?;
    let to = Operator::named(&current.revision, to)?;
    let current = operator.pause(&to, true).await?;
    let number = current.revision.number;
    let value = json!({ "ok": true, "revision": number, "to": to, "paused": true });
    print(common.output, &value, || {
        format!("{to}: paused by revision {number}; takt fleet resume continues\n")
    });
    Ok(Exit::Done)
}

pub async fn rollback(
    common: &Common,
    to: Option<&Selector>,
    number: Option<u64>,
) -> Result<Exit, Error> {
    let mut operator = operator(common, false).await?;
    let current = operator.current().await?;
    let to = Operator::named(&current.revision, to)?;
    let (current, from) = operator.rollback(&to, number).await?;
    if common.output == Output::Text {
        println!(
            "{to}: revision {} gives the policy of revision {from} to all at once",
            current.revision.number
        );
    }
    drive(&mut operator, &to, common.output).await
}

async fn drive(operator: &mut Operator, to: &Selector, output: Output) -> Result<Exit, Error> {
    let began = Instant::now();
    let ended = operator
        .drive(to, |progress, paused| {
            if output == Output::Text {
                let at = began.elapsed().as_secs();
                let paused = if paused { ", paused" } else { "" };
                println!("[{at:4} s] {}{paused}", describe(progress));
            }
        })
        .await?;
    let (exit, value, text) = match ended {
        Ended::Done(progress) => (
            Exit::Done,
            json!({ "ok": true, "ended": "done", "hosts": of(&progress) }),
            format!("{to}: every host that is there runs it\n"),
        ),
        Ended::Halted(progress, why) => (
            Exit::Failed,
            json!({ "ok": false, "ended": "halted", "error": why, "hosts": of(&progress) }),
            format!("{to}: halted and rolled back: {why}\n"),
        ),
        Ended::Superseded(number) => (
            Exit::Changed,
            json!({ "ok": false, "ended": "superseded", "revision": number }),
            format!("{to}: revision {number} by another signer replaces it\n"),
        ),
    };
    print(output, &value, || text);
    Ok(exit)
}

pub fn of(progress: &Progress) -> serde_json::Value {
    json!({
        "all": progress.hosts,
        "released": progress.released,
        "trying": progress.trying,
        "kept": progress.kept,
        "failed": progress.failed,
        "absent": progress.absent,
    })
}

pub fn describe(progress: &Progress) -> String {
    let Progress {
        hosts,
        released,
        trying,
        kept,
        failed,
        absent,
    } = progress;
    let mut text =
        format!("{released} of {hosts} hosts released: {kept} keep it, {trying} on trial");
    for (count, what) in [(failed, "took it back"), (absent, "absent")] {
        if *count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text
}

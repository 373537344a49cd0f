use std::time::Duration;

use nix::unistd;
use serde_json::json;
use takt_daemon::{Add, AskError, Code, Done, Listed, Refusal, Remove, Request, ask, destination};

use crate::{
    args::{Background, Output, Sockets},
    exit::Exit,
    print,
};

pub fn run(command: Background, output: Output) -> Exit {
    match request(command).and_then(|request| ask(&request)) {
        Ok(done) => {
            show(&done, output);
            Exit::Done
        }
        Err(error) => print::refused(output, &error),
    }
}

fn request(command: Background) -> Result<Request, AskError> {
    Ok(match command {
        Background::Add {
            destination: text,
            sockets,
            lifetime,
        } => {
            let to = destination(&text)?;
            Request::Add(Add {
                dst: to.ip().to_string(),
                port: to.port().into(),
                user: user(&sockets)?,
                everyone: sockets.everyone,
                lifetime_s: lifetime.map(|lifetime: Duration| lifetime.as_secs()),
            })
        }
        Background::Remove {
            destination: text,
            sockets,
        } => {
            let to = destination(&text)?;
            Request::Remove(Remove {
                dst: to.ip().to_string(),
                port: to.port().into(),
                user: user(&sockets)?,
                everyone: sockets.everyone,
            })
        }
        Background::List => Request::List(Default::default()),
    })
}

/// A number, or a user's name on this host.
fn user(sockets: &Sockets) -> Result<Option<u32>, AskError> {
    let Some(name) = &sockets.user else {
        return Ok(None);
    };
    if let Ok(number) = name.parse() {
        return Ok(Some(number));
    }
    match unistd::User::from_name(name) {
        Ok(Some(user)) => Ok(Some(user.uid.as_raw())),
        Ok(None) => Err(AskError::Refused(Refusal {
            code: Code::Malformed,
            message: format!("there is no user {name}"),
            fix: "`getent passwd` lists them, and a number needs no name".to_owned(),
        })),
        Err(errno) => Err(AskError::Failed(errno.into())),
    }
}

fn show(done: &Done, output: Output) {
    if let (Done::Added(added), Output::Text) = (done, output)
        && let Some(warning) = &added.warning
    {
        print::warning(warning);
    }
    match done {
        Done::Added(added) => print::result(output, added, |added| {
            if added.added {
                "registered".to_owned()
            } else {
                "registered already".to_owned()
            }
        }),
        Done::Removed(removed) => print::result(output, removed, |_| "taken back".to_owned()),
        Done::Listed(listed) => print::result(output, listed, list_text),
        Done::Joined(joined) => print::result(output, &json!(joined), |_| joined.group.clone()),
        // Other requests' answers, which do not occur here.
        Done::JoinedBeat(_)
        | Done::LeftBeat(_)
        | Done::ListedBeats(_)
        | Done::ListedRadio(_)
        | Done::ListedCrowd(_) => {}
    }
}

fn list_text(listed: &Listed) -> String {
    if listed.registrations.is_empty() {
        return "nothing is registered".to_owned();
    }
    let lines = listed.registrations.iter().map(|found| {
        let to = if found.dst.contains(':') {
            format!("[{}]:{}", found.dst, found.port)
        } else {
            format!("{}:{}", found.dst, found.port)
        };
        let whose = match found.user {
            Some(uid) => format!("user {uid}"),
            None => "everyone".to_owned(),
        };
        let until = match found.lifetime_s {
            Some(lifetime_s) => format!("  for {lifetime_s} s"),
            None => String::new(),
        };
        format!("{to:<48} {whose}{until}\n")
    });
    lines.collect()
}

//! `takt confirm` and `takt cancel`: decide a trial, from any session.

use serde_json::json;
use takt_host::Stage;

use crate::{args::Output, exit::Exit, print};

pub fn confirm(output: Output) -> Exit {
    match takt_host::confirm() {
        Err(error) => print::refused(output, &error),
        Ok(kept) => {
            print::result(output, &json!({ "kept": kept }), |_| {
                format!("kept: {} applied {}", kept.by, kept.policy)
            });
            Exit::Done
        }
    }
}

pub fn cancel(output: Output) -> Exit {
    let (cancelled, stage) = match takt_host::cancel() {
        Err(error) => return print::refused(output, &error),
        Ok(done) => done,
    };
    let left = match stage {
        Stage::TakenBack { left, .. } => left,
        _ => Vec::new(),
    };
    let value = json!({ "cancelled": cancelled, "left": left });
    print::result(output, &value, |_| {
        let back = match &cancelled.before {
            Some(before) => format!("policy {before} is in force again"),
            None => "no policy is in force again".to_owned(),
        };
        let left: String = left
            .iter()
            .map(|left| format!("left alone: {left}\n"))
            .collect();
        format!("cancelled {}: {back}\n{left}", cancelled.policy)
    });
    if left.is_empty() {
        Exit::Done
    } else {
        Exit::Changed
    }
}

//! Printing results and errors in the form that was asked for.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde_json::json;
use takt_kernel::Datagrams;
use takt_policy::Diagnostics;

use crate::{args::Output, exit::Exit};

/// Print a result. A reader that went away is no failure of ours.
pub fn result<T: Serialize>(output: Output, value: &T, text: impl FnOnce(&T) -> String) {
    let rendered = match output {
        Output::Json => {
            serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string())
        }
        Output::Text => text(value).trim_end().to_owned(),
    };
    let _ = writeln!(io::stdout(), "{rendered}");
}

/// Print an error and what it means for the exit code.
pub fn failure(output: Output, exit: Exit, message: &dyn std::fmt::Display) -> Exit {
    failure_of("takt", output, exit, message)
}

/// Likewise, of the program under one of its names.
pub fn failure_of(
    program: &str,
    output: Output,
    exit: Exit,
    message: &dyn std::fmt::Display,
) -> Exit {
    match output {
        Output::Json => result(output, &json!({ "error": message.to_string() }), |_| {
            String::new()
        }),
        Output::Text => {
            let _ = writeln!(io::stderr(), "{program}: {message}");
        }
    }
    exit
}

/// Print a remark that does not keep anything from being done.
pub fn warning(message: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "takt: warning: {message}");
}

/// Print what is wrong with a policy.
pub fn diagnostics(output: Output, diagnostics: &Diagnostics) -> Exit {
    match output {
        Output::Json => {
            result(
                output,
                &json!({ "ok": false, "errors": diagnostics }),
                |_| String::new(),
            );
        }
        Output::Text => warnings(diagnostics),
    }
    Exit::Invalid
}

/// Print remarks that do not keep anything from being done.
pub fn warnings(diagnostics: &Diagnostics) {
    if !diagnostics.is_empty() {
        let _ = write!(
            io::stderr(),
            "{}",
            diagnostics.render(io::stderr().is_terminal())
        );
    }
}

/// What became of datagrams that others sent, as one line without its end.
pub fn datagrams(datagrams: &Datagrams) -> String {
    let Datagrams {
        read,
        heard,
        malformed,
        forged,
        replayed,
        unknown,
        too_often,
        not_its_own,
        dropped,
    } = datagrams;
    format!(
        "datagrams: {read} read: {heard} heard, {malformed} malformed, {forged} forged, \
         {replayed} replayed, {unknown} of unknown senders, {too_often} too often, {not_its_own} \
         about others; {dropped} dropped unread"
    )
}

/// A number of things, in words.
pub fn count(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one() {
        let tasks = |number: usize| count(number, "task", "tasks");
        assert_eq!(
            [tasks(0), tasks(1), tasks(2)],
            ["0 tasks", "1 task", "2 tasks"]
        );
    }
}

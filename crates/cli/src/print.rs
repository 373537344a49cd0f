//! Printing results and errors in the requested form.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal, Write},
};

use serde::Serialize;
use serde_json::{Value, json};
use takt_host::{Datagrams, Foreign, Undecided};
use takt_policy::Diagnostics;

use crate::{args::Output, exit::Exit, reasons::Reason};

/// Of a device without IP.
pub const WITHOUT_IP: &str =
    "its packets are not IP, so they cannot be classified, and CoDel is off";

/// Of a link below devices whose packets it cannot read: one line.
pub fn opaque(devices: &[String]) -> String {
    match devices {
        [] => String::new(),
        devices => format!(
            "packets of {} are classified by their outer headers; a link on that \
             device can read the inner ones\n",
            devices.join(", ")
        ),
    }
}

/// Print a result. A closed output is not an error.
pub fn result<T: Serialize>(output: Output, value: &T, text: impl FnOnce(&T) -> String) {
    let rendered = match output {
        Output::Json => {
            serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string())
        }
        Output::Text => text(value).trim_end().to_owned(),
    };
    let _ = writeln!(io::stdout(), "{rendered}");
}

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    /// The code for `takt explain`.
    reason: Option<&'static Reason>,
    message: String,
    /// Its position in the policy, if it has one.
    found: Option<Diagnostics>,
}

impl Failure {
    /// An error without further explanation.
    pub fn plain(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            reason: None,
            message: message.into(),
            found: None,
        }
    }

    /// An error about a key of the policy.
    pub fn of_policy(error: &Undecided, found: Option<Diagnostics>) -> Self {
        Self {
            found,
            ..Self::from(error)
        }
    }

    /// As JSON: `code` and `error` are those of the first error, `errors` all of them, with
    /// positions where they have any.
    fn to_json(&self) -> Value {
        let code = self.reason.map(|reason| reason.code);
        let errors = match &self.found {
            Some(found) => found.to_json(),
            None => json!([{
                "code": code,
                "severity": "error",
                "message": self.message,
                "help": null,
                "file": null,
                "line": null,
                "column": null,
                "offending": null,
            }]),
        };
        json!({ "ok": false, "error": self.message, "code": code, "errors": errors })
    }
}

impl<'a, E> From<&'a E> for Failure
where
    E: std::fmt::Display,
    &'a E: Into<Exit> + Into<&'static Reason>,
{
    fn from(error: &'a E) -> Self {
        Self {
            exit: error.into(),
            reason: Some(error.into()),
            message: error.to_string(),
            found: None,
        }
    }
}

/// Print why a command failed, and where more is said about it.
pub fn refused(output: Output, failure: impl Into<Failure>) -> Exit {
    refused_by("takt", output, failure)
}

/// The same, for the program under one of its names.
pub fn refused_by(program: &str, output: Output, failure: impl Into<Failure>) -> Exit {
    let failure = failure.into();
    match (output, &failure.found) {
        (Output::Json, _) => result(output, &failure.to_json(), |_| String::new()),
        (Output::Text, Some(found)) => warnings(found),
        (Output::Text, None) => {
            let _ = writeln!(io::stderr(), "{program}: {}", failure.message);
            if let Some(reason) = failure.reason {
                let _ = writeln!(io::stderr(), "  more: takt explain {}", reason.short());
            }
        }
    }
    failure.exit
}

/// Print an error and return its exit code.
pub fn failure(output: Output, exit: Exit, message: &dyn std::fmt::Display) -> Exit {
    refused(output, Failure::plain(exit, message.to_string()))
}

/// Say in a result what was left as other programs have it, or could not be restored: an error with
/// the first one's code.
pub fn note_foreign(value: &mut Value, foreign: &[Foreign]) {
    if let Some(first) = foreign.first() {
        value["error"] = json!(first.to_string());
        value["code"] = json!(<&Reason>::from(first).code);
    }
}

/// The lines that name the explanations of these.
pub fn more_of(foreign: &[Foreign]) -> String {
    let codes: BTreeSet<&str> = { foreign.iter() }
        .map(|foreign| <&Reason>::from(foreign).short())
        .collect();
    let lines = codes.iter();
    lines
        .map(|code| format!("  more: takt explain {code}\n"))
        .collect()
}

/// Print a warning.
pub fn warning(message: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "takt: warning: {message}");
}

/// Print the errors of a policy.
pub fn diagnostics(output: Output, diagnostics: &Diagnostics) -> Exit {
    match output {
        Output::Json => {
            let first = diagnostics.iter().next();
            let value = json!({
                "ok": false,
                "error": first.map(|first| &first.message),
                "code": first.map(|first| first.code),
                "errors": diagnostics,
            });
            result(output, &value, |_| String::new());
        }
        Output::Text => warnings(diagnostics),
    }
    Exit::Invalid
}

/// Print warnings.
pub fn warnings(diagnostics: &Diagnostics) {
    if !diagnostics.is_empty() {
        let _ = write!(
            io::stderr(),
            "{}",
            diagnostics.render(io::stderr().is_terminal())
        );
    }
}

/// Counters of received datagrams, as one line without its end.
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

/// Measured times are shown in microseconds; times of the policy in its spelling.
pub fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Three digits and a letter: `84.2M`.
pub fn short(value: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let Some((scale, unit)) = UNITS.into_iter().find(|(scale, _)| value >= *scale) else {
        return value.to_string();
    };
    let scaled = value as f64 / scale as f64;
    let decimals = match scaled {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$}{unit}")
}

/// Text that programs chose, such as their names, without what a terminal would obey.
pub fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '?' } else { c };
    text.chars().map(shown).collect()
}

/// A station's weight, which is 1 for one that hears well.
pub fn weight(ppm: u32) -> String {
    format!("{:.3}", f64::from(ppm) / 1e6)
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

    #[test]
    fn three_digits_and_a_letter() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.00k"),
            (9_996, "10.0k"),
            (84_213_456, "84.2M"),
            (999_600, "1000k"),
            (12_000_000_000, "12.0G"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn a_terminal_obeys_no_name() {
        assert_eq!(plain("a\x1b[2J\u{9b}b\n"), "a?[2J?b?");
    }
}

//! Printing results and errors in the form that was asked for, as takt does.

use std::{
    fmt::Display,
    io::{self, Write},
};

use serde::Serialize;
use serde_json::json;

use super::{args::Output, exit::Exit};

/// Print a result. A reader that went away is no failure of the laboratory's.
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
pub fn failure(output: Output, exit: Exit, message: &dyn Display) -> Exit {
    let message = message.to_string();
    match output {
        Output::Json => {
            let value = json!({ "ok": false, "error": message, "code": null, "errors": [] });
            result(output, &value, |_| String::new());
        }
        Output::Text => {
            let _ = writeln!(io::stderr(), "takt: {message}");
        }
    }
    exit
}

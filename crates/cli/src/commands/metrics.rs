//! `takt metrics`: what `takt status` counts, for Prometheus and what reads its formats.

mod file;

use std::path::Path;

use takt_metrics::{Format, of_host};

use crate::{args::Output, exit::Exit, print};

/// Print them, or write them to a file.
pub fn run(file: Option<&Path>, output: Output) -> Exit {
    let format = match file {
        Some(_) => Format::Text,
        None => Format::OpenMetrics,
    };
    let text = match of_host(format) {
        Ok(text) => text,
        Err(error) => return print::refused(output, &error),
    };
    let Some(file) = file else {
        print::result(Output::Text, &(), |()| text);
        return Exit::Done;
    };
    match file::replace(file, &text) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let message = format!("{} cannot be written: {error}", file.display());
            print::failure(output, Exit::Failed, &message)
        }
    }
}

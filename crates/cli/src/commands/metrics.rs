//! `takt metrics`: what `takt status` counts, for Prometheus and what reads its formats.

mod exposition;
mod families;
mod file;

use std::path::Path;

use self::exposition::{Format, exposition};
use crate::{args::Output, exit::Exit, print};

/// Print them, or write them to a file.
pub fn run(file: Option<&Path>, output: Output) -> Exit {
    let status = match takt_host::status(false) {
        Ok(status) => status,
        Err(error) => return print::refused(output, &error),
    };
    let families = families::of(&status);
    let Some(file) = file else {
        print::result(Output::Text, &(), |()| {
            exposition(&families, Format::OpenMetrics)
        });
        return Exit::Done;
    };
    match file::replace(file, &exposition(&families, Format::Text)) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let message = format!("{} cannot be written: {error}", file.display());
            print::failure(output, Exit::Failed, &message)
        }
    }
}

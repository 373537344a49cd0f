//! What shells and manuals get from the command lines of Takt's programs: completions, which the
//! programs give themselves, and pages.

pub mod completions;
pub mod pages;
pub mod values;

use std::process::exit;

use clap::Command;

use self::pages::Sections;

/// Call it first in a program beside takt. It answers a shell that asks for completions, or `takt man`
/// that asks for pages, and ends the program then; else it returns.
///
/// `sections` are behind what one of its pages says of the command line.
pub fn answer(command: fn() -> Command, sections: Sections) {
    completions::answer(command);
    if let Some(written) = pages::answer(command, sections) {
        let status = written.map_or_else(
            |error| {
                eprintln!("writing manual pages: {error}");
                1
            },
            |()| 0,
        );
        exit(status);
    }
}

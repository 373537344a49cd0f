//! Manual pages: of a command line's definition, and of documents (`build.rs`).

use std::{env, fs, io, path::Path};

use clap::Command;
use miniz_oxide::inflate::decompress_to_vec;

/// Text in troff's man macros, compressed.
#[derive(Debug, Clone, Copy)]
pub struct Text(&'static [u8]);

impl Text {
    /// The text.
    ///
    /// # Errors
    ///
    /// None, if the program is as it was built.
    pub fn unpack(self) -> io::Result<String> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the program is damaged");
        let bytes = decompress_to_vec(self.0).map_err(|_| damaged())?;
        String::from_utf8(bytes).map_err(|_| damaged())
    }
}

macro_rules! text {
    ($($name:literal),+) => {
        Text(include_bytes!(concat!(env!("OUT_DIR"), "/", $($name,)+ ".z")))
    };
}

/// The policy, `takt-policy(5)`.
pub const POLICY: Text = text!("takt-policy.5");
/// The concepts, `takt(7)`.
pub const CONCEPTS: Text = text!("takt.7");
/// Sections of taktd's page.
pub const DAEMON: Text = text!("taktd.8");

/// The text of a document, as sections of a page.
#[derive(Debug, Clone, Copy)]
pub struct Sections {
    /// The page's name; it may be that of a command.
    pub page: &'static str,
    /// What follows what is said of the command line.
    pub text: Text,
}

macro_rules! sections {
    ($page:literal) => {
        Sections {
            page: $page,
            text: text!($page, ".1"),
        }
    };
}

/// Of the simulator.
pub const SIM: Sections = sections!("takt-sim");
/// Of the dispatcher.
pub const DISPATCH: Sections = sections!("takt-dispatch");
/// Of the fleet.
pub const FLEET: Sections = sections!("takt-fleet");
/// Of the laboratory: about measuring this machine.
pub const LAB: Sections = sections!("takt-bench");
/// Of the fleet in Kubernetes.
pub const KUBERNETES: Sections = sections!("takt-kubernetes");

/// By which `takt man` asks a program beside it for its pages; the directory follows.
pub const ARGUMENT: &str = "--manual-pages";

/// The name and version in the footer of each page.
const SOURCE: &str = concat!("takt ", env!("CARGO_PKG_VERSION"));

/// Writes the pages if they are asked for; `None`: they are not.
pub fn answer(command: fn() -> Command, sections: Sections) -> Option<io::Result<()>> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let directory = arguments.next()?;
    Some(write_all(Path::new(&directory), &command(), Some(sections)))
}

/// Writes the page of a program into the directory, with sections behind their page, and the pages of its
/// commands.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_all(
    directory: &Path,
    command: &Command,
    sections: Option<Sections>,
) -> io::Result<()> {
    let mut command = command.clone().disable_help_subcommand(true);
    command.build();
    write_of(directory, &command, sections)
}

fn write_of(directory: &Path, command: &Command, sections: Option<Sections>) -> io::Result<()> {
    for each in command.get_subcommands().filter(|each| !each.is_hide_set()) {
        write_of(directory, each, sections)?;
    }
    let name = command.get_display_name().unwrap_or(command.get_name());
    let sections = sections.filter(|sections| sections.page == name);
    let text = sections.map_or(Ok(String::new()), |sections| sections.text.unpack());
    let page = page(command, 1)? + &text?;
    fs::write(directory.join(format!("{name}.1")), page)
}

/// The page of one command, in troff's man macros.
///
/// # Errors
///
/// Those of the generator, which has none that are known.
pub fn page(command: &Command, section: u8) -> io::Result<String> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let title = name.replace('-', "\\-");
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let page = String::from_utf8_lossy(&page);
    // The generator leaves an empty date out, so the title is written here; its spaces at the ends
    // of lines and breaks beside empty lines are what checkers report.
    let lines = page.lines().map(|line| {
        if line.starts_with(".TH ") {
            format!(".TH {title} {section} \"\" \"{SOURCE}\" Takt\n")
        } else {
            line.trim_end().to_owned() + "\n"
        }
    });
    Ok(lines
        .collect::<String>()
        .replace("\n.br\n\n", "\n\n")
        .replace("\n\n.br\n", "\n\n")
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n")
        .replace(".SH EXTRA\nExample:\n", ".SH EXAMPLE\n")
        .replace("\nExit codes:\n", "\n.SH EXIT STATUS\n"))
}

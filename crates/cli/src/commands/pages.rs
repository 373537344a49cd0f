//! Output generated from the definition of the command line, besides `--help`: completions for
//! shells, and manual pages. Pages that are no command's come from `docs/` (`build.rs`).

use std::{fs, io, path::Path};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use super::daemon::Daemon;
use crate::{
    args::{Cli, Output},
    exit::Exit,
    print,
};

pub fn completions(shell: Shell, output: Output) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(&Cli::command()), "takt", &mut script);
    let script = String::from_utf8_lossy(&script);
    print::result(output, &json!({ "script": script }), |_| script.to_string());
    Exit::Done
}

/// Pages made of `docs/`.
const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/takt-policy.5"));
const CONCEPTS: &str = include_str!(concat!(env!("OUT_DIR"), "/takt.7"));
/// Sections of taktd's page, behind those about its command line.
const DAEMON: &str = include_str!(concat!(env!("OUT_DIR"), "/taktd.8"));

/// The name and version in the footer of each page.
const SOURCE: &str = concat!("takt ", env!("CARGO_PKG_VERSION"));

/// A page for each command, such as `takt-apply.1`, and those of taktd, the policy and the concepts.
pub fn manual(directory: &Path, output: Output) -> Exit {
    match write_all(directory) {
        Ok(()) => {
            print::result(output, &json!({ "directory": directory }), |_| {
                format!("manual pages are in {}", directory.display())
            });
            Exit::Done
        }
        Err(error) => {
            let message = format!("writing manual pages to {}: {error}", directory.display());
            print::failure(output, Exit::Failed, &message)
        }
    }
}

fn write_all(directory: &Path) -> io::Result<()> {
    let mut takt = Cli::command().disable_help_subcommand(true);
    takt.build();
    write_of(directory, &takt)?;
    let daemon = page(&Daemon::command(), 8)? + DAEMON;
    fs::write(directory.join("taktd.8"), daemon)?;
    fs::write(directory.join("takt-policy.5"), POLICY)?;
    fs::write(directory.join("takt.7"), CONCEPTS)
}

/// The page of a command, and those of its commands.
fn write_of(directory: &Path, command: &Command) -> io::Result<()> {
    for each in command.get_subcommands().filter(|each| !each.is_hide_set()) {
        write_of(directory, each)?;
    }
    let name = command.get_display_name().unwrap_or(command.get_name());
    fs::write(directory.join(format!("{name}.1")), page(command, 1)?)
}

/// In troff's man macros. The generator leaves an empty date out, so the title is written here; its
/// spaces at the ends of lines and breaks beside empty lines are what checkers report.
fn page(command: &Command, section: u8) -> io::Result<String> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let title = name.replace('-', "\\-");
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let page = String::from_utf8_lossy(&page);
    let lines = page.lines().map(|line| match line.starts_with(".TH ") {
        true => format!(".TH {title} {section} \"\" \"{SOURCE}\" Takt\n"),
        false => line.trim_end().to_owned() + "\n",
    });
    Ok(lines
        .collect::<String>()
        .replace("\n.br\n\n", "\n\n")
        .replace("\n\n.br\n", "\n\n")
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n")
        .replace(".SH EXTRA\nExample:\n", ".SH EXAMPLE\n")
        .replace("\nExit codes:\n", "\n.SH EXIT STATUS\n"))
}

/// Without the commands that takt starts itself with, which generators would include.
fn visible(command: &Command) -> Command {
    let subcommands = command.get_subcommands().filter(|each| !each.is_hide_set());
    Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments())
        .subcommands(subcommands.map(visible))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every public command, by its whole name.
    fn commands(command: &Command) -> Vec<Command> {
        let visible = command
            .get_subcommands()
            .filter(|each| !each.is_hide_set() && each.get_name() != "help");
        visible
            .flat_map(|each| [vec![each.clone()], commands(each)].concat())
            .collect()
    }

    fn built() -> Command {
        let mut command = Cli::command();
        command.build();
        command
    }

    #[test]
    fn every_command_shows_how_it_is_used() {
        let all = commands(&built());
        assert!(all.len() > 20);
        for mut command in all.into_iter().chain([built(), Daemon::command()]) {
            let help = command.render_long_help().to_string();
            let name = command
                .get_bin_name()
                .unwrap_or(command.get_name())
                .to_owned();
            let (_, examples) = help.split_once("Example").expect(&name);
            assert!(examples.contains(&format!("  {name}")), "{help}");
        }
    }

    #[test]
    fn every_example_is_understood() {
        let all = commands(&built());
        let helps = all
            .into_iter()
            .chain([built()])
            .map(|mut command| command.render_long_help().to_string());
        for line in helps.flat_map(|help| help.lines().map(str::to_owned).collect::<Vec<_>>()) {
            let Some(example) = line.strip_prefix("  takt ") else {
                continue;
            };
            // How a shell treats the rest is beyond takt.
            let words = example.split(" | ").next().unwrap_or_default();
            let words = words.split(" > ").next().unwrap_or_default();
            let words = words.split_whitespace().map(|word| word.trim_matches('\''));
            let parsed = Cli::command().try_get_matches_from(["takt"].into_iter().chain(words));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
    }

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a folder is made");
        assert_eq!(manual(folder.path(), Output::Text), Exit::Done);
        let mut names: Vec<String> = commands(&built())
            .iter()
            .map(|each| each.get_display_name().unwrap_or_default().to_owned())
            .chain(["takt".to_owned()])
            .map(|name| format!("{name}.1"))
            .chain(["takt-policy.5", "takt.7", "taktd.8"].map(str::to_owned))
            .collect();
        names.sort();
        let mut found: Vec<String> = fs::read_dir(folder.path())
            .expect("it is read")
            .map(|entry| {
                entry
                    .expect("it is read")
                    .file_name()
                    .into_string()
                    .expect("a name")
            })
            .collect();
        found.sort();
        assert_eq!(found, names);
        for name in found {
            let page = fs::read_to_string(folder.path().join(&name)).expect("it is read");
            assert!(
                page.contains(".SH EXAMPLE") || !page.contains(".SH SYNOPSIS"),
                "{name}"
            );
            let (title, section) = name.rsplit_once('.').expect("a section");
            let title = title.replace('-', "\\-");
            assert!(page.contains(&format!(".TH {title} {section} ")), "{page}");
        }
    }

    #[test]
    fn nothing_hidden_is_offered() {
        let mut offered = visible(&Cli::command());
        offered.build();
        let hidden = ["guard", "guest", "send", "beat", "wlan"];
        for command in commands(&offered) {
            assert!(
                !hidden.contains(&command.get_name()),
                "{}",
                command.get_name()
            );
        }
    }
}

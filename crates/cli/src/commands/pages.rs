//! Output generated from the definition of the command line, besides `--help`: completions for
//! shells, and manual pages.

use std::{fs, io, path::Path};

use clap::CommandFactory;
use serde_json::json;
use takt_shell::{completions::Shell, pages};

use super::{daemon::Daemon, program};
use crate::{
    args::{Cli, Output},
    exit::Exit,
    print,
};

pub fn completions(shell: Shell, output: Output) -> Exit {
    match shell.script("takt") {
        Ok(script) => {
            print::result(output, &json!({ "script": script }), |_| script.clone());
            Exit::Done
        }
        Err(error) => print::failure(output, Exit::Failed, &error),
    }
}

/// A page for each command, such as `takt-apply.1`, and those of taktd, the policy, the concepts and
/// the programs beside takt.
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
    pages::write_all(directory, &Cli::command(), None)?;
    let daemon = pages::page(&Daemon::command(), 8)? + &pages::DAEMON.unpack()?;
    fs::write(directory.join("taktd.8"), daemon)?;
    fs::write(directory.join("takt-policy.5"), pages::POLICY.unpack()?)?;
    fs::write(directory.join("takt.7"), pages::CONCEPTS.unpack()?)?;
    // In the places of what takt itself knows of them.
    program::all_beside().try_for_each(|mut program| {
        let status = program.arg(pages::ARGUMENT).arg(directory).status()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("{program:?}: {status}")))
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::Command;

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
}

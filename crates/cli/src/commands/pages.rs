//! Output generated from the definition of the command line, besides `--help`: completions for
//! shells, and manual pages.

use std::path::Path;

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

/// A page for each command, such as `takt-apply.1`, and one for taktd.
pub fn manual(directory: &Path, output: Output) -> Exit {
    let mut commands = [Cli::command(), Daemon::command()].into_iter();
    let written = commands.try_for_each(|command| clap_mangen::generate_to(command, directory));
    match written {
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
            .chain(["takt".to_owned(), "taktd".to_owned()])
            .map(|name| format!("{name}.1"))
            .collect();
        names.sort();
        let mut found: Vec<String> = std::fs::read_dir(folder.path())
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
            let page = std::fs::read_to_string(folder.path().join(&name)).expect("it is read");
            assert!(page.contains("Example"), "{name}");
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

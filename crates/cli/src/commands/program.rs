//! Programs beside takt, which it becomes: the laboratory, the simulator, the dispatcher, the fleet's.
//! A shell that completes words behind such a command is answered by its program.

use std::{
    env,
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use takt_shell::completions;

use crate::{args::Output, exit::Exit, print};

/// The commands that such programs carry out, and the words that they get in the command's place.
const COMMANDS: [(&str, &str, &[&str]); 5] = [
    ("sim", "takt-sim", &[]),
    ("dispatch", "takt-dispatch", &[]),
    ("fleet", "takt-fleet", &[]),
    ("lab", "takt-lab", &[]),
    ("bench", "takt-lab", &["bench"]),
];

/// The program beside takt, if it is there.
fn beside(name: &str) -> Option<PathBuf> {
    let beside = env::current_exe().map(|own| own.with_file_name(name));
    beside.ok().filter(|path| path.is_file())
}

/// Those that are there, each once.
pub fn all_beside() -> impl Iterator<Item = Command> {
    let names = COMMANDS.iter().filter(|(_, _, words)| words.is_empty());
    names.filter_map(|(_, name, _)| Some(Command::new(beside(name)?)))
}

/// Answers a shell that completes words behind such a command, and ends this program then.
pub fn complete() {
    completions::pass_on(|asked| {
        let (_, name, words) = COMMANDS.iter().find(|(command, ..)| *command == asked)?;
        let program = beside(name).unwrap_or_else(|| PathBuf::from(name));
        Some((
            Command::new(program),
            words.iter().map(OsString::from).collect(),
        ))
    });
}

/// Become this program: the one beside takt, else the one on the path. The words come first among
/// its arguments.
pub fn run(name: &str, words: &[&str], arguments: &[OsString], output: Output) -> Exit {
    let program = beside(name).unwrap_or_else(|| PathBuf::from(name));
    let mut command = Command::new(&program);
    if output == Output::Json {
        command.args(["--output", "json"]);
    }
    let error = command.args(words).args(arguments).exec();
    print::failure(output, Exit::Failed, &explain(name, &program, &error))
}

fn explain(name: &str, program: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "{name} is neither beside takt nor in PATH; install its package, \
             or run `make build`"
        ),
        _ => format!("starting {}: {error}", program.display()),
    }
}

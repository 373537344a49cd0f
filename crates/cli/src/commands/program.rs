//! Programs beside takt, which it becomes: the laboratory, the simulator, the dispatcher, the fleet's.

use std::{
    env,
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{args::Output, exit::Exit, print};

/// Become this program: the one beside takt, else the one on the path. The words come first among
/// its arguments.
pub fn run(name: &str, words: &[&str], arguments: &[OsString], output: Output) -> Exit {
    let beside = env::current_exe().map(|own| own.with_file_name(name));
    let beside = beside.ok().filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from(name));
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
            "{name} is neither beside takt nor on the path; it is made from Takt's sources: \
             make build"
        ),
        _ => format!("starting {}: {error}", program.display()),
    }
}

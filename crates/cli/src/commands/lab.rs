use std::{
    env,
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{args::Output, exit::Exit, print};

const PROGRAM: &str = "takt-lab";

/// Become takt-lab: the one beside this program, else the one on the path.
pub fn run(arguments: &[OsString], output: Output) -> Exit {
    let beside = env::current_exe().map(|own| own.with_file_name(PROGRAM));
    let beside = beside.ok().filter(|path| path.is_file());
    let program = beside.clone().unwrap_or_else(|| PathBuf::from(PROGRAM));
    let mut command = Command::new(&program);
    if output == Output::Json {
        command.args(["--output", "json"]);
    }
    let error = command.args(arguments).exec();
    print::failure(output, Exit::Failed, &explain(&program, &error))
}

fn explain(program: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "{PROGRAM} is neither beside takt nor on the path; it is made from Takt's sources: \
             make build"
        ),
        _ => format!("starting {}: {error}", program.display()),
    }
}

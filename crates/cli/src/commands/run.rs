use std::{ffi::OsString, io, os::unix::process::CommandExt, process::Command};

use nix::unistd::Uid;
use takt_daemon::{AskError, Request, ask};
use takt_kernel::background;

use crate::{args::Output, exit::Exit, print};

/// Become the program, in the background. Returns only if that fails.
pub fn run(command: &[OsString], output: Output) -> Exit {
    if let Err((exit, message)) = join() {
        return print::failure(output, exit, &message);
    }
    if let Err(error) = background::be_idle() {
        let message = format!("running as the least important task: {error}");
        return print::failure(output, Exit::Failed, &message);
    }
    let Some((program, arguments)) = command.split_first() else {
        return Exit::Invalid;
    };
    let error = Command::new(program).args(arguments).exec();
    let exit = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Exit::Invalid,
        _ => Exit::Failed,
    };
    let message = format!("starting {}: {error}", program.display());
    print::failure(output, exit, &message)
}

/// taktd knows when the group may go again; root can do without it.
fn join() -> Result<(), (Exit, String)> {
    match ask(&Request::Join(Default::default())) {
        Ok(_) => Ok(()),
        Err(AskError::NotRunning) if Uid::effective().is_root() => background::join_self()
            .map(drop)
            .map_err(|error| ((&error).into(), error.to_string())),
        Err(error) => Err(((&error).into(), error.to_string())),
    }
}

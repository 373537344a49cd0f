use std::ffi::OsString;

use nix::unistd::Uid;
use takt_daemon::{AskError, Request, ask};
use takt_host::background;

use super::become_program;
use crate::{
    args::Output,
    exit::Exit,
    print::{self, Failure},
};

/// Become the program, in the background. Returns only if that fails.
pub fn run(command: &[OsString], output: Output) -> Exit {
    if let Err(failure) = join() {
        return print::refused(output, failure);
    }
    if let Err(error) = background::be_idle() {
        let message = format!("running as the least important task: {error}");
        return print::failure(output, Exit::Failed, &message);
    }
    print::refused(output, become_program(command))
}

/// taktd removes the group when it is empty; root can do without taktd.
fn join() -> Result<(), Failure> {
    match ask(&Request::Join(Default::default())) {
        Ok(_) => Ok(()),
        Err(AskError::NotRunning) if Uid::effective().is_root() => background::join_self()
            .map(drop)
            .map_err(|error| (&error).into()),
        Err(error) => Err((&error).into()),
    }
}

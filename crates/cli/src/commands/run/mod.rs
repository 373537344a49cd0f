//! Running a program otherwise than others.

mod background;
mod beat;

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

use crate::{
    args::{Beat, Output},
    exit::Exit,
};

/// In the background, or on the beat.
pub fn run(beat: Option<Beat>, command: &[OsString], output: Output) -> ExitCode {
    match beat {
        None => background::run(command, output).into(),
        Some(beat) => beat::run(beat.into(), command, output),
    }
}

/// Returns only if that fails: how to end then, and what to say.
fn become_program(command: &[OsString]) -> (Exit, String) {
    let Some((program, arguments)) = command.split_first() else {
        return (Exit::Invalid, "there is no program to run".to_owned());
    };
    let error = Command::new(program).args(arguments).exec();
    let exit = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Exit::Invalid,
        _ => Exit::Failed,
    };
    (exit, format!("starting {}: {error}", program.display()))
}

//! Running a program in the background or on the beat.

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
    print::Failure,
};

/// In the background, or on the beat.
pub fn run(beat: Option<Beat>, command: &[OsString], output: Output) -> ExitCode {
    match beat {
        None => background::run(command, output).into(),
        Some(beat) => beat::run(beat.into(), command, output),
    }
}

/// Returns only on failure.
fn become_program(command: &[OsString]) -> Failure {
    let Some((program, arguments)) = command.split_first() else {
        return Failure::plain(Exit::Invalid, "there is no program to run");
    };
    let error = Command::new(program).args(arguments).exec();
    let exit = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Exit::Invalid,
        _ => Exit::Failed,
    };
    Failure::plain(exit, format!("starting {}: {error}", program.display()))
}

//! The program `takt`: reads the command line, calls the crate that does the
//! work, and shows what came of it.

mod args;
mod columns;
mod commands;
mod exit;
mod print;
mod reasons;
mod refusal;

use std::{env, path::Path, process::ExitCode};

use clap::{CommandFactory, Parser};

use crate::{
    args::{Cli, Command, Crowd, Passed, Radio},
    commands::{
        apply, background, check, confirm, crowd, daemon, doctor, explain, feed, flows, key,
        metrics, pages, program, revert, run, schema, station, status, top, trace, trial,
    },
};

fn main() -> ExitCode {
    if is_called("taktd") {
        return daemon::run().into();
    }
    program::complete();
    takt_shell::completions::answer(Cli::command);
    let Cli { command, output } = Cli::parse();
    // A program that takt becomes, or starts, has the limits that it was given.
    if !matches!(
        command,
        Command::Run { .. }
            | Command::Bench(_)
            | Command::Lab(_)
            | Command::Sim(_)
            | Command::Fleet(_)
    ) {
        takt_host::raise_limit();
    }
    if meets_the_host(&command) {
        trial::end_left_behind();
    }
    let exit = match command {
        Command::Check {
            file,
            kernel,
            explain,
        } => check::run(&file, kernel, explain, output),
        Command::Apply {
            file,
            dry_run,
            replace,
            confirm,
        } => {
            let options = takt_host::Options { replace, dry_run };
            apply::run(&file, options, confirm, output)
        }
        Command::Feed { while_needed } => feed::run(
            if while_needed {
                takt_host::Stay::WhileNeeded
            } else {
                takt_host::Stay::Always
            },
            output,
        ),
        Command::Background(command) => background::run(command, output),
        Command::Station(command) => station::run(command, output),
        Command::Radio(Radio::Key { file }) => {
            key::run(&file, "the access point and to every client", output)
        }
        Command::Crowd(Crowd::Key { file }) => key::run(&file, "every host of the group", output),
        Command::Crowd(Crowd::Neighbours) => crowd::neighbours(output),
        Command::Run { beat, command, .. } => return run::run(beat, &command, output),
        Command::Confirm => confirm::confirm(output),
        Command::Cancel => confirm::cancel(output),
        Command::Guard { id } => trial::guard(&id),
        Command::Status { flows, tasks } => status::run(output, status::Details { flows, tasks }),
        Command::Top(terms) => top::run(&terms, output),
        Command::Trace(terms) => trace::run(&terms, output),
        Command::Metrics { file } => metrics::run(file.as_deref(), output),
        Command::Flows(look) => flows::run(look, output),
        Command::Revert => revert::run(output),
        Command::Doctor => doctor::run(output),
        Command::Explain { code } => explain::run(code.as_deref(), output),
        Command::Schema => schema::run(),
        Command::Completions { shell } => pages::completions(shell, output),
        Command::Man { directory } => pages::manual(&directory, output),
        Command::Bench(Passed { arguments }) => {
            program::run("takt-lab", &["bench"], &arguments, output)
        }
        Command::Lab(Passed { arguments }) => program::run("takt-lab", &[], &arguments, output),
        Command::Fleet(Passed { arguments }) => program::run("takt-fleet", &[], &arguments, output),
        Command::Sim(Passed { arguments }) => program::run("takt-sim", &[], &arguments, output),
        Command::Dispatch(Passed { arguments }) => {
            program::run("takt-dispatch", &[], &arguments, output)
        }
    };
    exit.into()
}

/// Commands of an administrator that look at what takt does on this host, or change it.
fn meets_the_host(command: &Command) -> bool {
    matches!(
        command,
        Command::Apply { .. }
            | Command::Revert
            | Command::Status { .. }
            | Command::Confirm
            | Command::Cancel
            | Command::Metrics { .. }
            | Command::Top(_)
            | Command::Flows(_)
            | Command::Station(_)
    )
}

/// One program under two names.
fn is_called(name: &str) -> bool {
    let called = env::args_os().next().unwrap_or_default();
    Path::new(&called)
        .file_name()
        .is_some_and(|own| own == name)
}

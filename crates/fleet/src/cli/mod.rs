//! The command line of `takt-fleet`, which `takt fleet` runs.

mod agent;
mod args;
mod diff;
mod exit;
mod push;
mod serve;
mod show;

use std::{
    fmt::Display,
    io::{self, Write},
};

use clap::{CommandFactory, Parser};
use serde_json::{Value, json};
use takt_fleet::{
    keys::Signer,
    operator::{Error, Operator},
};

use self::{
    args::{Cli, Command, Common, Output},
    exit::Exit,
};

pub fn run() -> Exit {
    takt_shell::answer(Cli::command, takt_shell::pages::FLEET);
    let Cli { command, common } = Cli::parse();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    match builder.enable_all().build() {
        Ok(runtime) => runtime.block_on(carry_out(command, &common)),
        Err(error) => fail(common.output, Exit::Failed, &error),
    }
}

async fn carry_out(command: Command, common: &Common) -> Exit {
    let output = common.output;
    let done = match command {
        Command::Key { file } => return key(&file, output),
        Command::Agent {
            identity,
            label,
            period,
            takt,
        } => return agent::run(common, identity, &label, period, takt).await,
        Command::Push(push) => push::run(common, push).await,
        Command::Resume(to) => push::resume(common, to.to.as_ref()).await,
        Command::Rollback { to, revision } => {
            push::rollback(common, to.to.as_ref(), revision).await
        }
        Command::Pause(to) => push::pause(common, to.to.as_ref()).await,
        Command::Status { hosts } => show::status(common, hosts).await,
        Command::History => show::history(common).await,
        Command::Drift => show::drift(common).await,
        Command::Forget { host } => show::forget(common, &host).await,
        Command::Diff { policy, to } => diff::run(common, &policy, to.to.as_ref()).await,
        Command::Serve { listen, once } => serve::run(common, listen, once).await,
    };
    done.unwrap_or_else(|error| fail(output, Exit::from(&error), &error))
}

/// The operator of these options.
async fn operator(common: &Common, make: bool) -> Result<Operator, Error> {
    let key = common.key().map(|file| Signer::read(&file)).transpose();
    let signer = key.map_err(|error| Error::Files(io::Error::other(error)))?;
    let state = common.operator_state();
    Operator::connect(
        &common.access(),
        &common.fleet,
        signer,
        &common.pin,
        &state,
        make,
    )
    .await
}

fn key(file: &std::path::Path, output: Output) -> Exit {
    match Signer::read_or_make(file) {
        Ok(signer) => {
            let public = signer.public().to_string();
            print(output, &json!({ "key_file": file, "pin": public }), || {
                format!("{}: the signing key. Hosts pin\n{public}\n", file.display())
            });
            Exit::Done
        }
        Err(error) => fail(output, Exit::Invalid, &error),
    }
}

fn print(output: Output, value: &Value, text: impl FnOnce() -> String) {
    let text = match output {
        Output::Text => text(),
        Output::Json => format!("{value:#}\n"),
    };
    // A reader that went away is no failure of ours.
    let _ = io::stdout().write_all(text.as_bytes());
}

fn fail(output: Output, exit: Exit, error: &dyn Display) -> Exit {
    let message = error.to_string();
    match output {
        Output::Text => eprintln!("takt fleet: {message}"),
        Output::Json => {
            let errors = json!([{ "message": message }]);
            print(
                output,
                &json!({ "ok": false, "error": message, "errors": errors }),
                String::new,
            );
        }
    }
    exit
}

//! The command line of `takt-lab`, which `takt lab` runs.

mod args;
mod exit;
mod print;

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{CommandFactory, Parser};
use serde_json::json;
use takt_lab::{
    experiment::{self, GatewayChoice},
    host::{self, ExecOptions},
    native,
    run::{self, RunError, RunOptions},
    tour,
};
use takt_report::{Report, Row};

use self::{
    args::{Cli, Lab, Output},
    exit::Exit,
};

/// The command that measures real machines, and its report. It is `takt bench`, without `lab`.
const BENCH: &str = "bench";

/// Where reports go, from where the command was called.
const OUT: &str = "out";

pub fn run() -> ExitCode {
    takt_shell::answer(Cli::command, takt_shell::pages::LAB);
    let Cli { lab, output } = Cli::parse();
    match lab {
        Lab::Kernels { fetch } => kernels(&fetch, output).into(),
        Lab::Exec {
            machine,
            smp,
            sockets,
            clock,
            add,
            net,
            kernel_argument,
            timeout,
            init,
            command,
        } => {
            let mut options = ExecOptions::new(command);
            options.kernel = machine.named();
            options.smp = smp;
            options.sockets = sockets;
            options.clock = args::Clock::for_processors(clock, smp);
            options.add = add;
            options.net = net.into();
            options.kernel_arguments = kernel_argument;
            options.timeout = Duration::from_secs(60 * timeout);
            options.init = init;
            match host::exec(&options) {
                // A status is eight bits wide by the time the parent sees it.
                Ok(status) => ExitCode::from(status as u8),
                Err(error) => print::failure(Output::Text, Exit::Failed, &error).into(),
            }
        }
        Lab::Run {
            name,
            machine,
            short,
            part,
            gateway,
            seed,
        } => {
            let options = RunOptions {
                kernel: machine.named(),
                short,
                part: part.into(),
                gateway: gateway.into(),
                seed,
                command: command_line(),
                commit: env!("TAKT_COMMIT").to_owned(),
            };
            match run::run(&name, &options) {
                Ok(reports) => show(&name, reports, output).into(),
                Err(error) => {
                    let exit = match error {
                        RunError::Unknown { .. } | RunError::NoPart { .. } => Exit::Invalid,
                        _ => Exit::Failed,
                    };
                    print::failure(output, exit, &error).into()
                }
            }
        }
        Lab::Bench { name, full, only } => bench(name.as_deref(), full, only, output).into(),
        Lab::Guest {
            name,
            short,
            gateway,
            seed,
            only,
        } => guest(&name, short, gateway.into(), seed, only).into(),
        Lab::Send {
            port,
            bytes,
            piece,
            nice,
        } => started(experiment::send_from_stdin(port, bytes, piece, nice)).into(),
        Lab::Receive { port, nice } => started(experiment::receive_numbered(port, nice)).into(),
        Lab::Beat => started(experiment::play_from_stdin()).into(),
        Lab::Radio => started(experiment::play_radio_from_stdin()).into(),
        Lab::Wire => started(experiment::play_wire_from_stdin()).into(),
        Lab::Wlan { script, command } => wlan(&script, &command).into(),
    }
}

/// How a program ends that an experiment has started.
fn started(result: Result<(), experiment::ExperimentError>) -> Exit {
    match result {
        Ok(()) => Exit::Done,
        Err(error) => print::failure(Output::Text, Exit::Failed, &error),
    }
}

fn kernels(fetch: &[String], output: Output) -> Exit {
    let fetched = fetch.iter().try_for_each(|spec| {
        let spec = (spec != "default").then_some(spec.as_str());
        host::ensure(spec).map(drop)
    });
    let listed = fetched.and_then(|()| host::list());
    let kernels = match listed {
        Ok(kernels) => kernels,
        Err(error) => return print::failure(output, Exit::Failed, &error),
    };
    let value = json!({ "kernels": kernels });
    print::result(output, &value, |_| {
        let lines = kernels.iter().map(|kernel| {
            let cached = if kernel.cached { "here" } else { "" };
            let names = [
                kernel.default.then_some("default"),
                kernel.newest.then_some("newest"),
                kernel.wireless.then_some("wireless"),
                kernel.realtime.then_some("realtime"),
            ];
            let names: Vec<_> = names.into_iter().flatten().collect();
            format!("{:<32} {cached:<5} {}", kernel.release, names.join(" "))
                .trim_end()
                .to_owned()
                + "\n"
        });
        lines.collect()
    });
    Exit::Done
}

/// Inside the machine, like what follows.
fn wlan(script: &Path, command: &[OsString]) -> Exit {
    match experiment::Wlan::around(&own_program(), script, command) {
        Ok(statistics) => {
            print::result(Output::Json, &statistics, |_| String::new());
            Exit::Done
        }
        Err(error) => print::failure(Output::Text, Exit::Failed, &error),
    }
}

fn own_program() -> PathBuf {
    env::current_exe().unwrap_or_else(|_| PathBuf::from("takt-lab"))
}

/// Measure on this very machine.
fn bench(name: Option<&str>, full: bool, only: Vec<String>, output: Output) -> Exit {
    if let Some(unknown) = name.filter(|name| !native::NAMES.contains(name)) {
        let known = native::NAMES.join(", ");
        let problem = format!("{unknown} is not measured on real machines; {known} are");
        return print::failure(output, Exit::Invalid, &problem);
    }
    if let Err(error) = native::enter() {
        let exit = match error {
            native::NativeError::Unshare(_) => Exit::Lacking,
            _ => Exit::Failed,
        };
        return print::failure(output, exit, &error);
    }
    let options = experiment::Options {
        short: !full,
        native: true,
        only,
        gateway: GatewayChoice::default(),
        seed: 1,
        takt: takt_beside(),
    };
    let names = native::NAMES.into_iter();
    let reports = names
        .filter(|one| name.is_none_or(|name| name == *one))
        .map(|name| {
            let report = experiment::run_here(name, options.clone())?;
            Ok(Report {
                command: command_line(),
                commit: env!("TAKT_COMMIT").to_owned(),
                ..report
            })
        });
    match reports.collect::<Result<Vec<_>, experiment::ExperimentError>>() {
        Ok(reports) => show(BENCH, reports, output),
        Err(error @ experiment::ExperimentError::UnknownScheduler { .. }) => {
            print::failure(output, Exit::Invalid, &error)
        }
        Err(error) => print::failure(output, Exit::Failed, &error),
    }
}

fn takt_beside() -> PathBuf {
    own_program().with_file_name("takt")
}

/// Measure, and print the report for the host to read.
fn guest(name: &str, short: bool, gateway: GatewayChoice, seed: u64, only: Vec<String>) -> Exit {
    let options = experiment::Options {
        short,
        native: false,
        only,
        gateway,
        seed,
        takt: takt_beside(),
    };
    match experiment::run_here(name, options) {
        Ok(report) => print_json(&report),
        Err(error) => print::failure(Output::Text, Exit::Failed, &error),
    }
}

fn print_json(report: &Report) -> Exit {
    match report.json() {
        Ok(json) => {
            // A reader that went away is no failure of ours.
            let _ = io::stdout().write_all(json.as_bytes());
            Exit::Done
        }
        Err(error) => print::failure(Output::Text, Exit::Failed, &error),
    }
}

fn show(name: &str, reports: Vec<Report>, output: Output) -> Exit {
    if output == Output::Json {
        return print_json(&joined(name, reports));
    }
    for report in &reports {
        let _ = writeln!(io::stdout(), "{}", takt_report::table(report));
    }
    match write_report(name, &reports) {
        Ok(path) => {
            let _ = writeln!(io::stdout(), "Report with plots: {}", path.display());
            Exit::Done
        }
        Err(error) => print::failure(
            output,
            Exit::Failed,
            &format!("writing the report to {OUT}/: {error}"),
        ),
    }
}

/// The page for people, and what it was made from for programs.
fn write_report(name: &str, reports: &[Report]) -> Result<PathBuf, Box<dyn std::error::Error>> {
    fs::create_dir_all(OUT)?;
    let path = |extension: &str| Path::new(OUT).join(format!("{name}.{extension}"));
    fs::write(path("html"), takt_report::html(reports))?;
    let joined = joined(name, reports.to_vec());
    fs::write(path("json"), joined.json()?)?;
    if let Some(picture) = takt_report::picture(&joined) {
        fs::write(path("svg"), picture)?;
    }
    Ok(fs::canonicalize(path("html"))?)
}

/// The tour is one report too: its cases bear their experiment's name.
fn joined(name: &str, mut reports: Vec<Report>) -> Report {
    if name != tour::NAME && reports.len() == 1 {
        return reports.swap_remove(0);
    }
    let mut whole = Report {
        experiment: name.to_owned(),
        kernel: String::new(),
        clock: String::new(),
        command: command_line(),
        commit: env!("TAKT_COMMIT").to_owned(),
        rows: Vec::new(),
    };
    for report in reports {
        whole.kernel = report.kernel;
        whole.clock = report.clock;
        whole.rows.extend(report.rows.into_iter().map(|row| Row {
            case: format!("{}/{}", report.experiment, row.case),
            ..row
        }));
    }
    whole
}

/// The command that was typed.
fn command_line() -> String {
    let words: Vec<String> = env::args().skip(1).collect();
    let program = if words.iter().any(|word| word == BENCH) {
        "takt"
    } else {
        "takt lab"
    };
    format!("{program} {}", words.join(" "))
}

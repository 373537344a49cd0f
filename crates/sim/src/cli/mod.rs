//! The command line of `takt-sim`, which `takt sim` runs.

mod args;
mod exit;
mod page;
mod recording;
mod report;
mod schedulers;
mod table;

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
};

use clap::{CommandFactory, Parser};
use serde_json::json;
use takt_policy::{Diagnostics, Policy, format_duration, traffic::Traffic};
use takt_sim::{Outcome, Setup, SetupError, Terms};

use self::{
    args::{Cli, Output},
    exit::Exit,
    report::{Report, Variant},
};

/// Why nothing is simulated.
enum Refusal {
    /// A file is wrong.
    File(Box<Diagnostics>),
    /// What it asks for is not simulated.
    Setup(SetupError),
    /// A peer fills a wire, and there is none.
    Gaps,
    /// The figures begin after the run's end.
    Short { after_ns: u64, duration_ns: u64 },
}

pub fn run() -> Exit {
    takt_shell::answer(Cli::command, takt_shell::pages::SIM);
    let cli = Cli::parse();
    if let [device, time] = cli.record.as_slice() {
        return recording::run(&cli, device, time);
    }
    let (Some(policy), Some(traffic)) = (&cli.policy, &cli.traffic) else {
        // clap demands both of all commands but this.
        return write(&format!("{:#}\n", takt_policy::traffic::json_schema()));
    };
    match simulate(&cli, policy, traffic) {
        Ok(report) => show(&report, cli.output),
        Err(refusal) => refuse(&refusal, cli.output),
    }
}

fn simulate(cli: &Cli, policy: &Path, traffic: &Path) -> Result<Report, Refusal> {
    let traffic = takt_policy::traffic::load(traffic).map_err(boxed)?;
    if traffic.measure_after_ns >= cli.duration {
        return Err(Refusal::Short {
            after_ns: traffic.measure_after_ns,
            duration_ns: cli.duration,
        });
    }
    let terms = Terms {
        seed: cli.seed,
        duration_ns: cli.duration,
    };
    let policies = [Some(policy), cli.compare.as_deref()];
    let variants = policies.into_iter().flatten();
    let variants = variants.map(|path| variant(cli, path, &traffic, terms));
    Ok(Report {
        traffic: traffic.name().to_owned(),
        seed: cli.seed,
        duration_ns: cli.duration,
        variants: variants.collect::<Result<_, _>>()?,
    })
}

fn boxed(error: Diagnostics) -> Refusal {
    Refusal::File(Box::new(error))
}

fn variant(cli: &Cli, path: &Path, traffic: &Traffic, terms: Terms) -> Result<Variant, Refusal> {
    let loaded = takt_policy::load(path).map_err(boxed)?;
    let setup = setup(&loaded.policy, &loaded.name, cli, traffic)?;
    if cli.beside.contains(&schedulers::Name::Pspacer) && traffic.device.medium.is_some() {
        return Err(Refusal::Gaps);
    }
    let peers = cli
        .beside
        .iter()
        .map(|name| schedulers::peer(*name, &setup));
    let all = std::iter::once(schedulers::own(&setup)).chain(peers);
    let runs: Vec<Outcome> = all
        .map(|(name, mut qdisc)| takt_sim::run(&setup, &name, &mut *qdisc, terms))
        .collect();
    Ok(Variant {
        policy: loaded.name,
        link: setup.link.device.clone(),
        rate_bps: setup.link.rate_bps,
        runs,
    })
}

fn setup(policy: &Policy, name: &str, cli: &Cli, traffic: &Traffic) -> Result<Setup, Refusal> {
    Setup::new(policy, name, cli.link.as_deref(), traffic).map_err(Refusal::Setup)
}

fn show(report: &Report, output: Output) -> Exit {
    let text = match output {
        Output::Text => table::text(report),
        Output::Html => page::html(report),
        Output::Json => match report.json() {
            Ok(json) => json,
            Err(error) => {
                eprintln!("takt-sim: {error}");
                return Exit::Failed;
            }
        },
    };
    write(&text)
}

fn write(text: &str) -> Exit {
    // A reader that went away is no failure of ours.
    let _ = io::stdout().write_all(text.as_bytes());
    Exit::Done
}

fn refuse(refusal: &Refusal, output: Output) -> Exit {
    let said = |message: String| {
        let value = json!({ "errors": [{ "message": message }] });
        (format!("takt-sim: {message}\n"), value)
    };
    let (text, value) = match refusal {
        Refusal::File(errors) => (
            errors.render(io::stderr().is_terminal()),
            json!({ "errors": errors.to_json() }),
        ),
        Refusal::Setup(error) => said(error.to_string()),
        Refusal::Gaps => said(
            "pspacer sends gap frames, and an access point's radio has no wire to fill: take it \
             out of --beside"
                .to_owned(),
        ),
        Refusal::Short {
            after_ns,
            duration_ns,
        } => said(format!(
            "the traffic file measures after {}, and the run takes {}: let --duration be longer",
            format_duration(*after_ns),
            format_duration(*duration_ns)
        )),
    };
    match output {
        Output::Text | Output::Html => eprint!("{text}"),
        Output::Json => println!("{value:#}"),
    }
    Exit::Invalid
}

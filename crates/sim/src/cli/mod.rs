//! The command line of `takt-sim`, which `takt sim` runs.

mod args;
mod exit;
mod page;
mod recording;
mod report;
mod schedulers;
mod seeds;
mod spread;
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
    seeds::Seeds,
};

/// Why nothing is simulated.
enum Refusal {
    /// A file is wrong.
    File(Box<Diagnostics>),
    /// What it asks for is not simulated.
    Setup(SetupError),
    /// A peer fills a wire, and there is none.
    Gaps,
    /// A page shows one run.
    Page,
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
        Ok(reports) => show(&reports, cli.output),
        Err(refusal) => refuse(&refusal, cli.output),
    }
}

/// A report for each seed.
fn simulate(cli: &Cli, policy: &Path, traffic: &Path) -> Result<Vec<Report>, Refusal> {
    let traffic = takt_policy::traffic::load(traffic).map_err(boxed)?;
    if traffic.measure_after_ns >= cli.duration {
        return Err(Refusal::Short {
            after_ns: traffic.measure_after_ns,
            duration_ns: cli.duration,
        });
    }
    let seeds = { cli.seeds.as_ref() }.map_or_else(|| vec![cli.seed], Seeds::all);
    if seeds.len() > 1 && cli.output == Output::Html {
        return Err(Refusal::Page);
    }
    let policies = [Some(policy), cli.compare.as_deref()];
    let policies = policies.into_iter().flatten();
    let prepared = policies.map(|path| Prepared::new(cli, path, &traffic));
    let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
    let jobs = seeds.iter().flat_map(|&seed| {
        let variants = prepared.iter();
        variants
            .flat_map(move |it| (0..=cli.beside.len()).map(move |scheduler| (seed, it, scheduler)))
    });
    let mut outcomes =
        seeds::on_all_processors(&jobs.collect::<Vec<_>>(), |&(seed, it, scheduler)| {
            let duration_ns = cli.duration;
            it.run(scheduler, Terms { seed, duration_ns })
        })
        .into_iter();
    let mut report = |seed| Report {
        traffic: traffic.name().to_owned(),
        seed,
        duration_ns: cli.duration,
        variants: { prepared.iter() }
            .map(|it| it.variant(outcomes.by_ref().take(1 + cli.beside.len()).collect()))
            .collect(),
    };
    Ok(seeds.into_iter().map(&mut report).collect())
}

fn boxed(error: Diagnostics) -> Refusal {
    Refusal::File(Box::new(error))
}

/// A policy whose traffic is to be simulated.
struct Prepared<'cli> {
    name: String,
    setup: Setup,
    beside: &'cli [schedulers::Name],
}

impl<'cli> Prepared<'cli> {
    fn new(cli: &'cli Cli, path: &Path, traffic: &Traffic) -> Result<Self, Refusal> {
        let loaded = takt_policy::load(path).map_err(boxed)?;
        let setup = setup(&loaded.policy, &loaded.name, cli, traffic)?;
        if cli.beside.contains(&schedulers::Name::Pspacer) && traffic.device.medium.is_some() {
            return Err(Refusal::Gaps);
        }
        Ok(Self {
            name: loaded.name,
            setup,
            beside: &cli.beside,
        })
    }

    /// The policy's own scheduler is the first.
    fn run(&self, scheduler: usize, terms: Terms) -> Outcome {
        let peer = scheduler.checked_sub(1).and_then(|at| self.beside.get(at));
        let (name, mut qdisc) = match peer {
            Some(name) => schedulers::peer(*name, &self.setup),
            None => schedulers::own(&self.setup),
        };
        takt_sim::run(&self.setup, &name, &mut *qdisc, terms)
    }

    fn variant(&self, runs: Vec<Outcome>) -> Variant {
        Variant {
            policy: self.name.clone(),
            link: self.setup.link.device.clone(),
            rate_bps: self.setup.link.rate_bps,
            runs,
        }
    }
}

fn setup(policy: &Policy, name: &str, cli: &Cli, traffic: &Traffic) -> Result<Setup, Refusal> {
    Setup::new(policy, name, cli.link.as_deref(), traffic).map_err(Refusal::Setup)
}

fn show(reports: &[Report], output: Output) -> Exit {
    let text = match (reports, output) {
        ([report], Output::Text) => table::text(report),
        ([report], Output::Html) => page::html(report),
        ([report], Output::Json) => match report.json() {
            Ok(json) => json,
            Err(error) => {
                eprintln!("takt-sim: {error}");
                return Exit::Failed;
            }
        },
        (several, Output::Json) => format!("{:#}\n", spread::json(several)),
        (several, _) => table::spreads(several),
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
        Refusal::Page => {
            said("a page shows one run: leave out --seeds, or take --output json".to_owned())
        }
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

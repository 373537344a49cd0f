//! Experiments that no laboratory here is fast enough for, or that take a day. Prints a report in
//! the form of the laboratory's, as docs/results keeps it:
//!
//! ```sh
//! cargo run --release -p takt-sim --example experiments > docs/results/simulated.json
//! ```
//!
//! With names behind it, only those experiments run, and with `--seed N` before them, with other
//! random numbers than those of seed 1.

mod clients;
mod day;
mod incast;
mod parallel;
mod radio;
mod rates;
mod setting;
mod shares;

use std::{env, process::Command};

use takt_report::{Report, Row};

type Experiment = (&'static str, fn() -> Vec<Row>);

const ALL: [Experiment; 6] = [
    ("rates", rates::run),
    ("shares", shares::run),
    ("clients", clients::run),
    ("incast", incast::run),
    ("radio", radio::run),
    ("day", day::run),
];

fn main() {
    let mut names: Vec<String> = env::args().skip(1).collect();
    let arguments = names.join(" ");
    if names.first().is_some_and(|name| name == "--seed") {
        let seed = names.get(1).and_then(|seed| seed.parse().ok());
        setting::set_seed(seed.expect("--seed N, from 1 on"));
        names.drain(..2);
    }
    for name in &names {
        let known = ALL.map(|(known, _)| known);
        assert!(
            known.contains(&name.as_str()),
            "{name} is none of {known:?}"
        );
    }
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    let wanted = ALL.iter().filter(|(name, _)| is_wanted(name));
    let rows = wanted.flat_map(|(name, run)| {
        eprintln!("{name}");
        run()
    });
    let mut command = "cargo run --release -p takt-sim --example experiments".to_owned();
    if !arguments.is_empty() {
        command += &format!(" -- {arguments}");
    }
    let report = Report {
        experiment: "simulated".to_owned(),
        kernel: "none".to_owned(),
        clock: "simulated".to_owned(),
        command,
        commit: commit(),
        rows: rows.collect(),
    };
    print!("{}", report.json().expect("a report is JSON"));
}

/// Of the tree that this was built from.
fn commit() -> String {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty"]);
    let output = git.current_dir(env!("CARGO_MANIFEST_DIR")).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

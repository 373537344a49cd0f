//! The laboratory on a busy host, several times: which verdicts and figures depend on the host?

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::Context;

use crate::{
    all,
    cargo::Selection,
    children::Children,
    figures::{self, Run},
    program::Program,
    suite::{Job, Suite, processors},
};

/// The load ends with the run, and at last after this time for each round.
const LOAD_LIMIT: Duration = Duration::from_secs(6 * 3600);

/// Run it `rounds` times. Whether each test passed each time.
pub fn run(rounds: u32) -> anyhow::Result<bool> {
    let mut suite = Suite::new("stress")?;
    suite.step(suite.cargo.plugin())?;
    let Some(programs) = suite.build(&Selection::Laboratory)? else {
        return Ok(suite.close());
    };
    let laboratory = programs.iter().find(|program| program.is_laboratory());
    let laboratory = laboratory.context("cargo has built no laboratory")?;
    let mut load = Children::new()?;
    load.start(&mut stress(), LOAD_LIMIT * rounds)
        .context("the load; scripts/deps lab installs it")?;
    let jobs = 1..=rounds;
    let mut jobs: Vec<_> = jobs.map(|round| job(&suite, laboratory, round)).collect();
    all::of_this_commit(&mut jobs);
    let mut runs = Vec::new();
    suite.run(jobs, 1, &mut |verdict| {
        runs.push(Run::read(&verdict.said));
        Ok(())
    })?;
    load.end_all();
    println!("\nVerdicts and figures that differ in {rounds} rounds:\n");
    print!("{}", figures::differences(&runs));
    Ok(suite.close())
}

fn job(suite: &Suite, laboratory: &Program, round: u32) -> Job {
    let mut job = all::job(&suite.cargo, laboratory);
    job.label = format!("{}, round {round}", job.label);
    job.command.arg("--show-output");
    // Its log has what is compared.
    job.is_shown = false;
    job
}

/// A load for each processor.
fn stress() -> Command {
    let mut stress = Command::new("stress-ng");
    stress.args(["--quiet", "--cpu", &processors().to_string()]);
    stress.stdout(Stdio::null());
    stress
}

//! Everything, or everything that needs no virtual machine.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::Context;

use crate::{
    baseline,
    cargo::{Cargo, Selection},
    ledger::LEDGER,
    program::Program,
    queue::Lane,
    round::{ROUND, Round, SEED},
    said,
    suite::{Job, Suite, processors},
};

/// A program whose tests take minutes where they are idle has hung after this time.
const LIMIT: Duration = Duration::from_secs(3600);
/// The laboratory's machines take their time on a busy host, and have limits of their own.
const LABORATORY_LIMIT: Duration = Duration::from_secs(4 * 3600);
/// The kind of a run of everything.
const ALL: &str = "all";
/// Of the last run.
const LEDGER_FILE: &str = "ledger.jsonl";
/// More at a time than there are processors: they wait.
const WAITING_THREADS: &str = "--test-threads=4";

/// Run all steps. Whether all went well.
pub fn run(has_machines: bool) -> anyhow::Result<bool> {
    let (kind, selection) = if has_machines {
        (ALL, Selection::All)
    } else {
        ("check", Selection::WithoutMachines)
    };
    let mut suite = Suite::new(kind)?;
    let cargo = suite.cargo.clone();
    suite.step(cargo.format_check())?;
    suite.step(cargo.plugin())?;
    suite.step(cargo.clippy(&selection))?;
    let ledger = ledger(&suite)?;
    if let Some(programs) = suite.build(&selection)? {
        if has_machines {
            suite.cases(&programs)?;
        }
        let mut jobs: Vec<Job> = programs
            .iter()
            .map(|program| job(&cargo, program))
            .collect();
        jobs.push(documentation(&cargo));
        of_this_commit(&mut jobs);
        for job in &mut jobs {
            job.command.env(LEDGER, &ledger);
        }
        // The laboratory keeps the others busy.
        let busy_max = if has_machines {
            processors() / 2
        } else {
            processors()
        };
        suite.run(jobs, busy_max, &mut |_| Ok(()))?;
    }
    print!("{}", baseline::report(&ledger));
    Ok(suite.close())
}

/// Make what the last run of everything took the baseline.
pub fn record() -> anyhow::Result<bool> {
    baseline::record(&Suite::new(ALL)?.file(LEDGER_FILE))?;
    Ok(true)
}

/// An empty file.
fn ledger(suite: &Suite) -> anyhow::Result<PathBuf> {
    let path = suite.file(LEDGER_FILE);
    fs::write(&path, "").with_context(|| format!("{}", path.display()))?;
    Ok(path)
}

/// The commit decides what else a test would draw by lot.
pub fn of_this_commit(jobs: &mut [Job]) {
    let round = Round::of_head();
    let values = [(ROUND, round.number), (SEED, round.seed)];
    for (variable, value) in values {
        // Given by hand, it counts.
        if env::var_os(variable).is_some() {
            continue;
        }
        println!("{variable}={value}");
        for job in &mut *jobs {
            job.command.env(variable, value.to_string());
        }
    }
}

/// How a test program is run.
pub fn job(cargo: &Cargo, program: &Program) -> Job {
    let mut command = in_folder(cargo, &program.executable, &program.folder);
    let lane = lane(program);
    if lane == Lane::Waiting {
        command.arg(WAITING_THREADS);
    }
    Job {
        label: program.label(),
        lane,
        command,
        limit: match lane {
            Lane::Laboratory => LABORATORY_LIMIT,
            _ => LIMIT,
        },
        counts: said::counts,
        is_shown: true,
    }
}

fn lane(program: &Program) -> Lane {
    if program.is_laboratory() {
        Lane::Laboratory
    } else if program.mostly_waits() {
        Lane::Waiting
    } else {
        Lane::Busy
    }
}

fn in_folder(cargo: &Cargo, executable: &Path, folder: &Path) -> Command {
    let mut command = Command::new(executable);
    command.current_dir(folder).envs(cargo.environment(folder));
    command
}

/// The tests in the documentation.
pub fn documentation(cargo: &Cargo) -> Job {
    Job {
        label: "documentation".to_owned(),
        lane: Lane::Busy,
        command: cargo.documentation_tests(),
        limit: LIMIT,
        counts: said::counts_of_all,
        is_shown: true,
    }
}

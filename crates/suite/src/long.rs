//! Every case in full, which takes hours. It may be ended at any time, and goes on where it stopped.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use crate::{
    all,
    cargo::Selection,
    cases, git, modules,
    program::Program,
    progress::{Done, Progress},
    queue::Lane,
    report::Verdict,
    round::{ROUND, SEED},
    suite::{Job, Suite, processors},
};

/// One part has hung after this time.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Run what is not done yet, or everything if `is_fresh`. Whether all went well.
pub fn run(is_fresh: bool) -> anyhow::Result<bool> {
    let mut suite = Suite::new("long")?;
    suite.step(suite.cargo.plugin())?;
    let Some(programs) = suite.build(&Selection::All)? else {
        return Ok(suite.close());
    };
    let sources = git::sources(&suite.file("index"))?;
    let mut progress = Progress::read(suite.file("progress.json"), &sources)?;
    if is_fresh {
        progress.clear();
    }
    suite.cases(&programs)?;
    let seed = RandomState::new().build_hasher().finish();
    println!("{SEED}={seed} repeats the property tests of this run");
    let mut jobs = Vec::new();
    for job in all_jobs(&mut suite, &programs)? {
        match progress.done(&job.label) {
            Some(done) => suite.verdicts.push(verdict(&job, done)),
            None => jobs.push(job),
        }
    }
    println!(
        "{} parts are done at these sources, {} are not",
        suite.verdicts.len(),
        jobs.len()
    );
    for job in &mut jobs {
        job.limit = LIMIT;
        job.command.env_remove(ROUND).env(SEED, seed.to_string());
    }
    suite.run(jobs, processors() / 2, &mut |verdict| {
        let done = Done {
            is_success: verdict.is_ok,
            end: verdict.end.clone(),
            seed,
            said: verdict.said.clone(),
        };
        progress.note(&verdict.label, done)
    })?;
    for verdict in suite.verdicts.iter().filter(|verdict| !verdict.is_ok) {
        if let Some(done) = progress.done(&verdict.label) {
            println!("{} failed with {SEED}={}", verdict.label, done.seed);
        }
    }
    println!("\nWhat is done is not run again at these sources; make test-long FRESH=1 does.");
    Ok(suite.close())
}

/// All programs; of the laboratory, each module by itself.
fn all_jobs(suite: &mut Suite, programs: &[Program]) -> anyhow::Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for program in programs {
        if !program.is_laboratory() {
            jobs.push(all::job(&suite.cargo, program));
            continue;
        }
        let listed = suite.listed(program)?;
        let names: Vec<&str> = cases::listed(&listed).collect();
        let all: BTreeSet<&str> = modules::modules(names.iter().copied());
        for module in &all {
            let mut job = all::job(&suite.cargo, program);
            job.label = format!("{}: {module}", job.label);
            let filter = modules::whole(module, &names);
            job.command.args(modules::only(&[filter], &all));
            job.lane = Lane::Laboratory;
            jobs.push(job);
        }
    }
    jobs.push(all::documentation(&suite.cargo));
    Ok(jobs)
}

fn verdict(job: &Job, done: &Done) -> Verdict {
    let counts = (job.counts)(&done.said);
    let (end, said) = (done.end.clone(), done.said.clone());
    Verdict::of_program(job.label.clone(), done.is_success, end, said, counts)
}

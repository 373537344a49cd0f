//! A developer's loop: the tests that tell most about what changed, in a few minutes. No proof.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};

use crate::{
    affected::{Affected, Packages, lines},
    all,
    cargo::Selection,
    cases,
    git::git,
    modules,
    program::{Program, Target},
    suite::{Job, Suite, processors},
    tells,
};

/// Keeps the laboratory to the default kernel.
const ONLY_DEFAULT: &str = "TAKT_TEST_ONLY_DEFAULT";
/// Its tests are of the program that is installed, which is compiled for size.
const INSTALLED: &str = "takt";

/// Run the tests for what differs from `base`, a commit. Whether all went well.
pub fn run(base: Option<&str>) -> anyhow::Result<bool> {
    let mut suite = Suite::new("quick")?;
    let base = match base {
        Some(base) => base.to_owned(),
        None => landed()?,
    };
    let files = changed(&base)?;
    let affected = affected(&suite, &files)?;
    let tests = tells::tests_for(lines(&files));
    tell(&base, &affected, &tests);
    suite.step(suite.cargo.format_check())?;
    if affected.is_empty() && tests.is_empty() {
        return Ok(suite.close());
    }
    let selection = Selection::Of {
        tests: affected
            .tests
            .iter()
            .filter(|name| *name != "lab")
            .cloned()
            .collect(),
        has_laboratory: !tests.is_empty(),
    };
    if let Some(programs) = suite.build(&selection)? {
        let mut jobs = jobs(&mut suite, &programs, &affected, &tests)?;
        all::of_this_commit(&mut jobs);
        // The laboratory's one machine takes one processor.
        suite.run(jobs, processors() / 2, &mut |_| Ok(()))?;
    }
    suite.step(suite.cargo.clippy(&selection))?;
    Ok(suite.close())
}

/// The last commit that others have.
fn landed() -> anyhow::Result<String> {
    git(&["merge-base", "HEAD", "@{upstream}"])
        .or_else(|_| git(&["describe", "--tags", "--abbrev=0"]))
        .or_else(|_| git(&["rev-parse", "HEAD"]))
}

/// One path a line.
fn changed(base: &str) -> anyhow::Result<String> {
    let tracked = git(&["diff", "--name-only", "--relative", base])
        .with_context(|| format!("BASE={base} names no commit"))?;
    let untracked = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(format!("{tracked}\n{untracked}"))
}

fn affected(suite: &Suite, files: &str) -> anyhow::Result<Affected> {
    let done = suite
        .cargo
        .metadata()
        .output()
        .context("cargo does not start")?;
    ensure!(
        done.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let packages = Packages::read(&String::from_utf8_lossy(&done.stdout))?;
    Ok(packages.affected(lines(files)))
}

fn tell(base: &str, affected: &Affected, tests: &[String]) {
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
    println!("since {base}:");
    println!("  all tests of: {}", list(&affected.changed));
    println!("  unit tests of: {}", list(&affected.dependents));
    println!("  on the default kernel: {}", tests.join(" "));
}

fn jobs(
    suite: &mut Suite,
    programs: &[Program],
    affected: &Affected,
    tests: &[String],
) -> anyhow::Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for program in programs {
        if program.is_laboratory() {
            if !tests.is_empty() {
                let listed = suite.listed(program)?;
                let all = modules::modules(cases::listed(&listed));
                let mut job = all::job(&suite.cargo, program);
                job.command
                    .args(modules::only(tests, &all))
                    .env(ONLY_DEFAULT, "1");
                jobs.push(job);
            }
        } else if is_run(program, affected) {
            jobs.push(all::job(&suite.cargo, program));
        }
    }
    Ok(jobs)
}

fn is_run(program: &Program, affected: &Affected) -> bool {
    match &program.target {
        _ if program.boots_machines() || program.mostly_waits() => false,
        Target::Tests(_) => {
            affected.changed.contains(&program.package) && program.package != INSTALLED
        }
        Target::Library | Target::Binary(_) => affected.includes(&program.package),
    }
}

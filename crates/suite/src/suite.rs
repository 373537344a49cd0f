//! One run: its steps in their order, and test programs beside each other.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    num::NonZero,
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

use crate::{
    cargo::{self, Cargo, Selection},
    cases,
    children::{Children, Ended},
    program::{self, Program},
    queue::{Lane, Queue},
    report::{self, Verdict},
    said::Counts,
};

/// A build from nothing, on a slow machine.
const BUILD_LIMIT: Duration = Duration::from_secs(2 * 3600);
/// No test runs.
const LIST_LIMIT: Duration = Duration::from_secs(60);
/// A step's name.
const CASES: &str = "cases that ran before";

/// A command whose output is a program's of libtest's, or several.
pub struct Job {
    pub label: String,
    pub lane: Lane,
    pub command: Command,
    pub limit: Duration,
    /// Reads its output.
    pub counts: fn(&str) -> Option<Counts>,
    /// Whether its output is printed even if all went well.
    pub is_shown: bool,
}

struct Running {
    child: usize,
    /// Among the jobs.
    which: usize,
    label: String,
    log: PathBuf,
    counts: fn(&str) -> Option<Counts>,
    is_shown: bool,
}

/// What is known of a run so far.
pub struct Suite {
    began: Instant,
    children: Children,
    pub cargo: Cargo,
    /// Outputs of what runs now.
    folder: PathBuf,
    pub verdicts: Vec<Verdict>,
}

impl Suite {
    /// Kinds of runs keep their files apart.
    pub fn new(kind: &str) -> anyhow::Result<Suite> {
        // Programs run in other folders.
        let target = std::path::absolute(cargo::target_folder())?;
        let folder = target.join("suite").join(kind);
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        Ok(Suite {
            began: Instant::now(),
            children: Children::new()?,
            cargo: Cargo::from_environment(),
            folder,
            verdicts: Vec::new(),
        })
    }

    /// A file of the run's.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn announce(&self, what: &str) {
        println!("\n==> [{:3} s] {what}", self.began.elapsed().as_secs());
    }

    /// A step that fails does not keep the later ones from running: one run tells all.
    pub fn step(&mut self, mut command: Command) -> anyhow::Result<bool> {
        let label = line_of(&command);
        self.announce(&label);
        let how = self.children.run(&mut command, BUILD_LIMIT)?;
        let is_success = how.is_success();
        (self.verdicts).push(Verdict::of_step(label, is_success, how.to_string()));
        Ok(is_success)
    }

    /// Build test programs. None if that failed.
    pub fn build(&mut self, selection: &Selection) -> anyhow::Result<Option<Vec<Program>>> {
        let messages = self.file("messages.json");
        let mut command = self.cargo.build_tests(selection);
        command.stdout(created(&messages)?);
        if !self.step(command)? {
            return Ok(None);
        }
        let messages = fs::read_to_string(&messages).context("cargo's messages")?;
        Ok(Some(program::built(&messages)))
    }

    /// libtest's list of a program's tests.
    pub fn listed(&mut self, program: &Program) -> anyhow::Result<String> {
        let list = self.file("list.txt");
        let mut command = Command::new(&program.executable);
        command.args(["--list", "--format", "terse"]);
        command.current_dir(&program.folder).stdout(created(&list)?);
        let how = self.children.run(&mut command, LIST_LIMIT)?;
        ensure!(how.is_success(), "{} --list: {how}", program.label());
        fs::read_to_string(&list).context("a list of tests")
    }

    /// See that no case is lost. `programs` are all there are.
    pub fn cases(&mut self, programs: &[Program]) -> anyhow::Result<()> {
        self.announce(CASES);
        let mut lists = Vec::new();
        for program in programs {
            lists.push((program.package.as_str(), self.listed(program)?));
        }
        let present = lists.iter().flat_map(|(package, list)| {
            let names = cases::listed(list);
            names.map(move |name| (*package, name))
        });
        let missing = cases::missing(present)?;
        for case in &missing {
            println!("missing: {case}; crates/suite/src/successors.txt names successors");
        }
        let end = format!("{} cases are missing", missing.len());
        let verdict = Verdict::of_step(CASES.to_owned(), missing.is_empty(), end);
        self.verdicts.push(verdict);
        Ok(())
    }

    /// Run test programs, `busy_max` busy ones at a time. Each one's output is printed when it has
    /// ended, whole.
    pub fn run(
        &mut self,
        jobs: Vec<Job>,
        busy_max: usize,
        ended: &mut dyn FnMut(&Verdict) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut queue = Queue::new(jobs.iter().map(|job| job.lane), busy_max);
        let mut jobs: Vec<Option<Job>> = jobs.into_iter().map(Some).collect();
        let mut running: Vec<Running> = Vec::new();
        loop {
            while let Some(which) = queue.begin() {
                let mut job = jobs[which].take().expect("each begins once");
                let log = self.file(&format!("{}.log", file_name(&job.label)));
                let output = created(&log)?;
                job.command.stderr(output.try_clone().context("a log")?);
                job.command.stdout(output);
                let child = self.children.start(&mut job.command, job.limit)?;
                if job.lane == Lane::Laboratory {
                    self.announce(&format!(
                        "{} runs, and says so in {}",
                        job.label,
                        log.display()
                    ));
                }
                running.push(Running {
                    child,
                    which,
                    label: job.label,
                    log,
                    counts: job.counts,
                    is_shown: job.is_shown,
                });
            }
            let Some(end) = self.children.next()? else {
                return Ok(());
            };
            let at = running.iter().position(|job| job.child == end.child);
            let job = running.swap_remove(at.expect("it has begun"));
            queue.end(job.which);
            let verdict = self.heard(job, &end)?;
            ended(&verdict)?;
            self.verdicts.push(verdict);
        }
    }

    fn heard(&self, job: Running, end: &Ended) -> anyhow::Result<Verdict> {
        let said = fs::read(&job.log).with_context(|| format!("{}", job.log.display()))?;
        let said = String::from_utf8_lossy(&said).into_owned();
        self.announce(&format!("{}, {:.1} s", job.label, end.took.as_secs_f64()));
        let is_success = end.how.is_success();
        let mut out = io::stdout().lock();
        if job.is_shown || !is_success {
            out.write_all(said.as_bytes()).context("standard output")?;
        }
        if !is_success {
            writeln!(out, "{}: {}", job.label, end.how).context("standard output")?;
        }
        let counts = (job.counts)(&said);
        let how = end.how.to_string();
        Ok(Verdict::of_program(
            job.label, is_success, how, said, counts,
        ))
    }

    /// The last lines, and whether all went well.
    pub fn close(&self) -> bool {
        print!("{}", report::closing(&self.verdicts, self.began.elapsed()));
        report::is_ok(&self.verdicts)
    }
}

/// The number of this machine's processors.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn created(path: &PathBuf) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("{} cannot be written", path.display()))
}

/// A command as it is typed.
fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<OsString> = words.map(Into::into).collect();
    words.join(" ".as_ref()).to_string_lossy().into_owned()
}

fn file_name(label: &str) -> String {
    let kept = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    label.replace(|letter| !kept(letter), "-")
}

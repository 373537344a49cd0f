//! One boot of a machine, and the tests that run in it.
//!
//! The first test that asks starts its boot. When all tests run, the boots run in turn instead, the
//! longest first, as many at a time as the host has processors.

use std::{
    collections::{BTreeMap, VecDeque},
    env,
    ffi::{OsStr, OsString},
    fmt::{self, Display},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read, Seek},
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus, Stdio},
    sync::{LazyLock, Mutex, Once, OnceLock},
    thread,
    time::{Duration, Instant},
};

use crate::{
    costs,
    ledger::{self, Entry},
    machine::{ALL, BUSY, Machine, NOT_ITS_TURN},
    rounds::{IN_PART, ROUND},
};

/// The name of the boot, in the machine's environment.
pub const VARIABLE: &str = "TAKT_TEST_MACHINE";

/// In the machine's time, which is virtual. A hanging test is idle, so this passes at once.
const TIMEOUT_S: &str = "2400";

/// Tests that look at the lab from outside.
const OUTSIDE: [&str; 7] = [
    "boot::",
    "contract::",
    "costs::",
    "every_file_here_is_compiled",
    "lockdown::",
    "package::",
    "rounds::",
];

/// libtest's exit status after a failed test.
const TESTS_FAILED: i32 = 101;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boot {
    machine: Machine,
    part: usize,
}

impl Boot {
    /// The one in which a test runs: each part of a machine's tests takes about as long.
    pub fn new(machine: Machine, test: &str) -> Self {
        let parts = machine.boots();
        let part = if parts == 1 {
            0
        } else {
            costs::part(&machine.to_string(), parts, test).unwrap_or_else(|| {
                let mut hasher = DefaultHasher::new();
                // Other numbers than those of turns (`rounds`), or parts would have none in theirs.
                ("part", test).hash(&mut hasher);
                hasher.finish() as usize % parts
            })
        };
        Self { machine, part }
    }

    fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter()
            .filter(|machine| machine.is_asked_for())
            .flat_map(|machine| (0..machine.boots()).map(move |part| Self { machine, part }))
    }

    /// The longest first, or it might come last, alone.
    fn start_all() {
        static LEFT: LazyLock<Mutex<VecDeque<Boot>>> = LazyLock::new(|| {
            let mut boots: Vec<Boot> = Boot::all().collect();
            boots.sort_by(|one, other| other.cost_s().total_cmp(&one.cost_s()));
            Mutex::new(boots.into())
        });
        let next = || LEFT.lock().expect("no thread fails with it").pop_front();
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            thread::spawn(move || {
                while let Some(boot) = next() {
                    boot.made().get_or_init(|| boot.make());
                }
            });
        }
    }

    fn cost_s(self) -> f64 {
        costs::of_machine(&self.machine.to_string()) / self.machine.boots() as f64
    }

    /// Says what a test said in this boot, and fails if it did.
    pub fn ask_about(self, test: &str) {
        match self.transcript().verdict(test) {
            Ok(said) => println!("{said}"),
            Err(account) => panic!("{test} failed in the lab, {self}:\n{account}"),
        }
    }

    /// Assert that all tests passed that ran, and some of each of these modules. Returns their
    /// number.
    pub fn assert_passes_all(self, modules: &[&str]) -> usize {
        let transcript = self.transcript();
        let passed: Vec<_> = transcript.passed().collect();
        let has_passed = |module: &&str| {
            let of_it = format!("{module}::");
            passed.iter().any(|name| name.starts_with(&of_it))
        };
        let is_well = transcript.status == Some(0) && modules.iter().all(has_passed);
        assert!(is_well, "{transcript}");
        passed.len()
    }

    fn transcript(self) -> &'static Transcript {
        static START_ALL: Once = Once::new();
        if filtered() {
            return self.made().get_or_init(|| self.make());
        }
        START_ALL.call_once(Self::start_all);
        self.made().wait()
    }

    fn made(self) -> &'static OnceLock<Transcript> {
        static MADE: LazyLock<BTreeMap<Boot, OnceLock<Transcript>>> =
            LazyLock::new(|| Boot::all().map(|boot| (boot, OnceLock::new())).collect());
        &MADE[&self]
    }

    /// libtest's arguments there: the requested tests, or those of the machine's modules.
    fn tests(self) -> Vec<OsString> {
        if let Some(modules) = self.machine.modules() {
            return modules
                .iter()
                .map(|name| format!("{name}::").into())
                .collect();
        }
        let given = env::args_os().skip(1);
        given.filter(|given| !is_about_output(given)).collect()
    }

    /// Runs the requested tests in the machine.
    fn make(self) -> Transcript {
        let program = env::current_exe().expect("this program has a file");
        let name = program.file_name().expect("and the file a name");
        let mut command = self.machine.exec();
        command
            .arg("--add")
            .arg(&program)
            .args(["--", "env"])
            .arg(format!("{VARIABLE}={self}"));
        if let Ok(round) = env::var(ROUND) {
            command.arg(format!("{ROUND}={round}"));
        }
        command
            .args(["timeout", "-s", "KILL", TIMEOUT_S])
            .arg(name)
            .args(self.tests())
            .args(["--show-output", "--test-threads", "1"])
            .args(OUTSIDE.iter().flat_map(|module| ["--skip", module]));
        let began = Instant::now();
        match run_to_end(&mut command) {
            Ok((transcript, cpu)) => {
                self.record(&transcript, cpu, began.elapsed());
                transcript
            }
            Err(error) => Transcript {
                status: None,
                stdout: String::new(),
                stderr: format!("takt does not start: {error}"),
            },
        }
    }

    fn record(self, transcript: &Transcript, cpu: Duration, wall: Duration) {
        let machine = self.to_string();
        let tests: Vec<_> = transcript.ran().collect();
        ledger::write(&Entry::Machine {
            machine: &machine,
            cpu_s: cpu.as_secs_f64(),
            wall_s: wall.as_secs_f64(),
            tests: tests.len(),
        });
        let ran = tests.len();
        for (test, said, cpu_s) in tests {
            ledger::write(&Entry::Test {
                machine: &machine,
                test,
                cpu_s,
            });
            for line in said.lines().filter_map(|line| line.strip_prefix(IN_PART)) {
                ledger::write(&Entry::part(test, line));
            }
        }
        let of_others = transcript.of_other_rounds();
        if of_others > 0 {
            ledger::write(&Entry::Part {
                test: &machine,
                what: "tests",
                ran,
                of: ran + of_others,
            });
        }
    }
}

impl Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, part {}", self.machine, self.part)
    }
}

/// What a command printed, and the processors' time that it and its children took.
fn run_to_end(command: &mut Command) -> io::Result<(Transcript, Duration)> {
    let (mut stdout, mut stderr) = (tempfile()?, tempfile()?);
    let child = command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()?;
    let mut status = 0;
    // SAFETY: all zeros are such a struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is this process's and nothing else waits for it; both are written to.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    if waited < 0 {
        return Err(io::Error::last_os_error());
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    let transcript = Transcript {
        status: ExitStatus::from_raw(status).code(),
        stdout: text_of(&mut stdout)?,
        stderr: text_of(&mut stderr)?,
    };
    Ok((transcript, time(usage.ru_utime) + time(usage.ru_stime)))
}

fn tempfile() -> io::Result<std::fs::File> {
    tempfile::tempfile()
}

fn text_of(file: &mut std::fs::File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether only some tests were asked for, and thus perhaps not every machine.
fn filtered() -> bool {
    env::args().skip(1).any(|given| !given.starts_with('-'))
}

/// There the output is always shown, and the location tells its test.
fn is_about_output(argument: &OsStr) -> bool {
    argument == "--show-output" || argument == "--nocapture"
}

/// libtest's output in the machine.
struct Transcript {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Transcript {
    /// Tests that libtest called ok, those for another machine included.
    fn passed(&self) -> impl Iterator<Item = &str> {
        self.stdout
            .lines()
            .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"))
    }

    /// Tests that ran here and passed, with what they said, and the seconds of processors' time.
    fn ran(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        self.passed().filter_map(|test| {
            let said = self.said_by(test)?;
            let busy = said.lines().find_map(|line| line.strip_prefix(BUSY))?;
            Some((test, said, seconds(busy)?))
        })
    }

    /// The number of this machine's tests that run in other rounds.
    fn of_other_rounds(&self) -> usize {
        let lines = self.stdout.lines();
        lines.filter(|line| *line == NOT_ITS_TURN).count()
    }

    /// The output of a test that passed; an account of the failure if it did not.
    fn verdict(&self, test: &str) -> Result<&str, String> {
        // With any other status the machine failed, and no test is known to be the cause.
        let all_ran = matches!(self.status, Some(0 | TESTS_FAILED));
        let passed = format!("test {test} ... ok");
        if all_ran && self.stdout.lines().any(|line| line == passed) {
            return Ok(self.said_by(test).unwrap_or_default());
        }
        Err(match self.said_by(test) {
            Some(account) if all_ran => account.to_owned(),
            _ => self.to_string(),
        })
    }

    /// The test's output, from its heading to the next.
    fn said_by(&self, test: &str) -> Option<&str> {
        let heading = format!("---- {test} stdout ----\n");
        let (_, account) = self.stdout.split_once(&heading)?;
        let end = ["\n---- ", "\nfailures:\n", "\nsuccesses:\n"]
            .into_iter()
            .filter_map(|heading| account.find(heading))
            .min();
        Some(account[..end.unwrap_or(account.len())].trim_end())
    }
}

impl Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self {
            status,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "status {status:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        )
    }
}

/// Of a `Duration` as it is printed for debugging.
fn seconds(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_alphabetic() || c == 'µ')?;
    let scale = match &text[at..] {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    Some(text[..at].parse::<f64>().ok()? * scale)
}

//! Running a test inside a lab machine.
//!
//! This program is copied into the machine and runs the tests there; outside, each test only asks
//! for its result. All tests of the same machine share one boot, or a few where they are many; the
//! first test starts it. When all tests run, the boots run in turn instead, the longest first, as
//! many at a time as the lab has machine slots.

use std::{
    any::type_name,
    collections::{BTreeMap, VecDeque},
    env,
    ffi::{OsStr, OsString},
    fmt::{self, Display},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    process::Command,
    sync::{LazyLock, Mutex, Once, OnceLock},
    thread,
    time::Duration,
};

use crate::{dispatch, hwsim, kernel_log, metronome::STRESS, systemd};

/// The name of the machine, in its environment.
const VARIABLE: &str = "TAKT_TEST_MACHINE";
/// Tests that passed in a boot that failed later, separated by commas.
const PASSED: &str = "TAKT_TEST_PASSED";

/// In the machine's time, which is virtual on one processor. A hanging test is idle, so this passes
/// at once.
const TIMEOUT_S: &str = "2400";

/// By the host's clock, which says little: a busy host takes several times as long as an idle one.
const BOOT_MINUTES: &str = "120";

/// A kernel switches its static keys by writing a breakpoint over the code first. With more than
/// one processor QEMU (until 8.1) may run its translation of that breakpoint after the kernel has
/// removed it and synchronised every processor, and the kernel then does not recognise it.
/// sched_ext switches many, so about one boot in three is affected.
const STALE_CODE: &str = "Oops: int3:";
/// Begins a warning from before the lab's modules were loaded: while it boots on a busy host, a
/// machine with two processors may see its clock jump, and report a stall.
const WHILE_BOOTING: &str = "Not tainted";
/// The kernel's text before a processor's flags.
const FLAGS: &str = "EFLAGS: ";
/// No processor has flags above these. QEMU 7.2 was seen to take a part of an address for them at
/// an instruction after cmpxchg16b, and the kernel to fault twice because of it.
const FLAGS_MAX: u32 = (1 << 22) - 1;
/// A boot continues where the one before it ended, so this is for the sake of one test.
const BOOTS_MAX: usize = 8;

/// Modules whose tests measure times. What the kernel frees of the tests before, milliseconds at a
/// time (docs/limits.md), makes them longer. Where only such tests failed, and few, they are tried
/// once more in a machine that no other test has used; one that fails twice has failed.
const TIMED: [&str; 4] = ["beats", "gap::", "gate::", "sim::"];
const FEW: usize = 4;

/// Ends the name of the machine in which the daemon's tests run under its unit.
const FOR_DAEMON: &str = " for the daemon";

/// Tests that look at the lab from outside.
const OUTSIDE: [&str; 4] = [
    "contract::",
    "every_file_here_is_compiled",
    "lockdown::",
    "package::",
];

/// libtest's exit status after a failed test.
const TESTS_FAILED: i32 = 101;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    kernel: &'static str,
    processors: u8,
    /// Each has a last-level cache.
    sockets: u8,
    first: First,
}

/// The first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum First {
    Takt,
    Systemd,
    /// The same, for tests of the default machine in [`OF_THE_DAEMON`].
    SystemdForDaemon,
}

/// Modules whose tests start a taktd: all of them pass under its unit as well.
pub const OF_THE_DAEMON: [&str; 5] = [
    "background",
    "places",
    "reports",
    "neighbours",
    "hostile_clients",
];

/// The kernel that Takt is developed with, in virtual time.
pub const DEFAULT: Machine = Machine {
    kernel: "default",
    processors: 1,
    sockets: 1,
    first: First::Takt,
};
pub const NEWEST: Machine = Machine {
    kernel: "newest",
    processors: 1,
    sockets: 1,
    first: First::Takt,
};
/// Two processors, and the host's time.
pub const TWO_PROCESSORS: Machine = Machine {
    kernel: "default",
    processors: 2,
    sockets: 1,
    first: First::Takt,
};
/// Likewise, with two last-level caches.
pub const TWO_CACHES: Machine = Machine {
    kernel: "default",
    processors: 4,
    sockets: 2,
    first: First::Takt,
};
/// Debian 12's: before tcx, and before the kernel functions with which takt looks at TCP.
pub const OLDEST: Machine = Machine {
    kernel: "6.1",
    processors: 1,
    sockets: 1,
    first: First::Takt,
};
/// Debian 13's: before there were BPF qdiscs.
pub const TOO_OLD: Machine = Machine {
    kernel: "6.12",
    processors: 1,
    sockets: 1,
    first: First::Takt,
};
/// New enough for BPF qdiscs, but Debian left them out.
pub const WITHOUT_BPF_QDISCS: Machine = Machine {
    kernel: "6.16",
    processors: 1,
    sockets: 1,
    first: First::Takt,
};

/// With wireless devices: an access point's and two stations'.
pub const WIRELESS: Machine = Machine {
    kernel: "wireless",
    processors: 1,
    sockets: 1,
    first: First::Takt,
};

/// With PREEMPT_RT, where BPF has no timers.
pub const REALTIME: Machine = Machine {
    kernel: "realtime",
    processors: 1,
    sockets: 1,
    first: First::Takt,
};

/// With systemd as its first process, which starts Takt's units.
pub const SYSTEMD: Machine = Machine {
    kernel: "default",
    processors: 1,
    sockets: 1,
    first: First::Systemd,
};
/// The same, for the daemon's tests.
pub const SYSTEMD_FOR_DAEMON: Machine = Machine {
    first: First::SystemdForDaemon,
    ..SYSTEMD
};

/// Those whose tests take longest come first.
const ALL: [Machine; 11] = [
    TWO_PROCESSORS,
    DEFAULT,
    SYSTEMD_FOR_DAEMON,
    NEWEST,
    SYSTEMD,
    TWO_CACHES,
    WIRELESS,
    TOO_OLD,
    OLDEST,
    WITHOUT_BPF_QDISCS,
    REALTIME,
];

/// Runs `test` on every machine whose kernel is older than BPF qdiscs.
pub fn on_old_kernels<F: FnOnce() + Copy>(test: F) {
    for machine in [OLDEST, TOO_OLD] {
        machine.run(test);
    }
}

impl Machine {
    /// Runs `test`, which must be a closure written in the test itself, since its type name
    /// identifies it.
    pub fn run<F: FnOnce()>(self, test: F) {
        match env::var(VARIABLE) {
            Ok(here) if here == self.boot_of(name_of::<F>()).to_string() => {
                if passed_before(name_of::<F>()) {
                    println!("it passed, and the machine failed later");
                } else {
                    self.settle();
                    kernel_log::begin(name_of::<F>());
                    let before = busy();
                    test();
                    println!("the processors were busy for {:?}", busy() - before);
                }
            }
            Ok(here) if self == DEFAULT && is_daemons(&here) => test(),
            Ok(_) => println!("a test for another machine"),
            Err(_) => self.boot_of(name_of::<F>()).ask_about(name_of::<F>()),
        }
    }

    /// The kernel frees what the test before has left a while later: a link's packet slots take a
    /// thread of its a millisecond. In virtual time to sleep costs nothing.
    fn settle(self) {
        if self.processors == 1 {
            thread::sleep(Duration::from_secs(1));
        }
    }

    /// Assert that this machine, which runs tests of the default one, has passed all of them. As
    /// with [`Machine::run`], `test` is a closure in the test that asks.
    pub fn passes_all<F: FnOnce()>(self, _test: F) {
        if env::var(VARIABLE).is_ok() {
            return println!("a test that asks about others");
        }
        let transcript = self.boot_of(name_of::<F>()).transcript();
        let passed: Vec<_> = transcript.passed().collect();
        let has_passed = |module: &str| {
            let of_it = format!("{module}::");
            passed.iter().any(|name| name.starts_with(&of_it))
        };
        let is_well = transcript.status == Some(0) && OF_THE_DAEMON.into_iter().all(has_passed);
        assert!(
            is_well,
            "status {:?}\n--- stdout\n{}\n--- stderr\n{}",
            transcript.status, transcript.stdout, transcript.stderr
        );
        println!("{} tests hold under the unit", passed.len());
    }

    /// The number of boots that share each machine's tests, so that no machine keeps one processor
    /// busy for longer than all the others take on the next.
    fn boots(self) -> u64 {
        if self == DEFAULT { 3 } else { 1 }
    }

    fn boot_of(self, test: &str) -> Boot {
        let mut hasher = DefaultHasher::new();
        test.hash(&mut hasher);
        Boot {
            machine: self,
            part: hasher.finish() % self.boots(),
        }
    }

    /// `takt lab exec` on this machine.
    pub fn exec(self) -> Command {
        let mut takt = Command::new(env!("CARGO_BIN_EXE_takt"));
        takt.args(["lab", "exec", "--kernel", self.kernel]);
        takt.args(["--smp", &self.processors.to_string()]);
        takt.args(["--sockets", &self.sockets.to_string()]);
        takt.args(["--timeout", BOOT_MINUTES]);
        if self.processors > 1 {
            takt.args(["--add", STRESS]);
        }
        if self.first != First::Takt {
            takt.args(["--init", systemd::FIRST]);
            for file in systemd::FILES {
                takt.args(["--add", file]);
            }
        }
        if [OLDEST, REALTIME].contains(&self) {
            takt.arg("--add").arg(dispatch::program());
        }
        if self == WIRELESS {
            takt.args(["--add", hwsim::HOSTAPD, "--add", hwsim::IW]);
        }
        takt
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "kernel {}, processors {}", self.kernel, self.processors)?;
        match self.first {
            First::Takt => Ok(()),
            First::Systemd => write!(f, ", systemd"),
            First::SystemdForDaemon => write!(f, ", systemd{FOR_DAEMON}"),
        }
    }
}

/// One boot of a machine, and the tests that run in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Boot {
    machine: Machine,
    part: u64,
}

impl Boot {
    fn all() -> impl Iterator<Item = Boot> {
        ALL.into_iter()
            .flat_map(|machine| (0..machine.boots()).map(move |part| Boot { machine, part }))
    }

    /// In their order, or the longest might come last, alone.
    fn start_all() {
        static LEFT: LazyLock<Mutex<VecDeque<Boot>>> =
            LazyLock::new(|| Mutex::new(Boot::all().collect()));
        let next = || LEFT.lock().expect("nobody fails with it").pop_front();
        // The machine with two processors sleeps a third of its time, since its time is the host's.
        let at_once = thread::available_parallelism().map_or(1, usize::from) + 1;
        for _ in 0..at_once {
            thread::spawn(move || {
                while let Some(boot) = next() {
                    boot.made().get_or_init(|| boot.make());
                }
            });
        }
    }

    fn ask_about(self, test: &str) {
        match self.transcript().verdict(test) {
            Ok(said) => println!("{said}"),
            Err(account) => panic!("{test} failed in the lab, {self}:\n{account}"),
        }
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

    /// Runs the requested tests in the machine.
    fn make(self) -> Transcript {
        let mut passed = Vec::new();
        let mut transcript = self.boot_once(&passed);
        let mut is_again = false;
        for _ in 1..BOOTS_MAX {
            if !transcript.is_the_emulators_failure() {
                if is_again || !transcript.failed_by_few_times() {
                    break;
                }
                is_again = true;
                transcript.tell_of_failures();
            }
            passed.extend(transcript.passed().map(str::to_owned));
            transcript = self.boot_once(&passed);
        }
        transcript
    }

    /// libtest's arguments there: the requested tests, or the daemon's.
    fn tests(self) -> Vec<OsString> {
        if self.machine == SYSTEMD_FOR_DAEMON {
            return OF_THE_DAEMON
                .map(|module| format!("{module}::").into())
                .into();
        }
        let given = env::args_os().skip(1);
        given.filter(|given| !is_about_output(given)).collect()
    }

    fn boot_once(self, passed: &[String]) -> Transcript {
        let program = env::current_exe().expect("this program has a file");
        let name = program.file_name().expect("and the file a name");
        let done = self
            .machine
            .exec()
            .arg("--add")
            .arg(&program)
            .args(["--", "env"])
            .arg(format!("{VARIABLE}={self}"))
            .arg(format!("{PASSED}={}", passed.join(",")))
            .args(["timeout", "-s", "KILL", TIMEOUT_S])
            .arg(name)
            .args(self.tests())
            .args(["--show-output", "--test-threads", "1"])
            .args(OUTSIDE.iter().flat_map(|module| ["--skip", module]))
            .output();
        match done {
            Ok(done) => Transcript {
                status: done.status.code(),
                stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
            },
            Err(error) => Transcript {
                status: None,
                stdout: String::new(),
                stderr: format!("takt does not start: {error}"),
            },
        }
    }
}

impl Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, part {}", self.machine, self.part)
    }
}

/// The time for which this machine's processors have worked, of which the host's is a multiple.
fn busy() -> Duration {
    let stat = fs::read_to_string("/proc/stat").expect("the kernel keeps statistics");
    let all = stat.lines().next().expect("of all processors first");
    let times = all.split_whitespace().skip(1).map(|ticks| {
        let ticks = ticks.parse::<u64>();
        ticks.expect("in hundredths of a second")
    });
    let idle = 3..5;
    let busy = times.enumerate().filter(|(at, _)| !idle.contains(at));
    Duration::from_millis(10 * busy.map(|(_, ticks)| ticks).sum::<u64>())
}

/// Whether systemd runs this machine's services.
pub fn has_systemd() -> bool {
    env::var(VARIABLE).is_ok_and(|here| here.contains(", systemd"))
}

fn is_daemons(here: &str) -> bool {
    here.contains(FOR_DAEMON)
}

fn passed_before(test: &str) -> bool {
    env::var(PASSED).is_ok_and(|passed| passed.split(',').any(|name| name == test))
}

/// Whether only some tests were asked for, and thus perhaps not every machine.
fn filtered() -> bool {
    env::args().skip(1).any(|given| !given.starts_with('-'))
}

/// There the output is always shown, and the location tells its test.
fn is_about_output(argument: &OsStr) -> bool {
    argument == "--show-output" || argument == "--nocapture"
}

/// `module::test` of a closure in that test.
fn name_of<F>() -> &'static str {
    type_name::<F>()
        .strip_suffix("::{{closure}}")
        .and_then(|name| name.split_once("::"))
        .map(|(_crate, name)| name)
        .expect("the test is a closure in a function")
}

/// libtest's output in the machine.
struct Transcript {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Transcript {
    fn is_the_emulators_failure(&self) -> bool {
        [STALE_CODE, WHILE_BOOTING]
            .iter()
            .any(|sign| self.stderr.contains(sign))
            || self.has_impossible_flags()
    }

    fn has_impossible_flags(&self) -> bool {
        let said = self.stderr.split(FLAGS).skip(1);
        said.filter_map(|rest| u32::from_str_radix(rest.get(..8)?, 16).ok())
            .any(|flags| flags > FLAGS_MAX)
    }

    /// Tests that libtest called ok, those for another machine included.
    fn passed(&self) -> impl Iterator<Item = &str> {
        self.stdout
            .lines()
            .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"))
    }

    /// Tests that libtest called failed; none if the machine failed.
    fn failed(&self) -> impl Iterator<Item = &str> {
        let all_ran = self.status == Some(TESTS_FAILED);
        let lines = self.stdout.lines().filter(move |_| all_ran);
        lines.filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
    }

    fn failed_by_few_times(&self) -> bool {
        let is_timed = |test: &str| TIMED.iter().any(|module| test.starts_with(module));
        (1..=FEW).contains(&self.failed().count()) && self.failed().all(is_timed)
    }

    /// Shown even if the tests pass then, so past libtest, which keeps what they print.
    fn tell_of_failures(&self) {
        for test in self.failed() {
            let account = self.said_by(test).unwrap_or_default();
            let told = format!("{test} failed and is tried again:\n{account}\n");
            let _ = io::stderr().write_all(told.as_bytes());
        }
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
            _ => format!(
                "status {:?}\n--- stdout\n{}\n--- stderr\n{}",
                self.status, self.stdout, self.stderr
            ),
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

//! A dispatcher on this machine, with threads of this test. As root; one dispatcher at a time.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::{
    sched::{CpuSet, sched_getaffinity},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use takt_beats::Beat;

const PROGRAM: &str = env!("CARGO_BIN_EXE_takt-dispatch");
const PATIENCE: Duration = Duration::from_secs(20);
const OTHER_USER: u32 = 65_534;
const YET_ANOTHER_USER: u32 = 65_533;
const FOLDER: &str = "/run/takt-dispatch";

/// Two tasks that take turns on one CPU.
const POLICY: &str = r#"
[beats]
cpus = 0

[[task]]
name = "td-first"
period = "20ms"
budget = "4ms"
offset = "2ms"

[[task]]
name = "td-second"
period = "40ms"
budget = "4ms"
offset = "10ms"
overrun = "signal"
"#;

/// One test at a time has the dispatcher.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct Policy(tempfile::NamedTempFile);

impl Policy {
    fn new(text: &str) -> Self {
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        fs::write(&file, text).unwrap();
        Self(file)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

fn dispatch(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Ended with the test, whatever happens to it.
struct Dispatcher(Child);

impl Dispatcher {
    fn start(policy: &Policy) -> Self {
        let child = Command::new(PROGRAM)
            .arg("run")
            .arg(policy.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn supervisor(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32)
    }

    fn keeper(&self) -> Pid {
        let id = self.0.id();
        let path = format!("/proc/{id}/task/{id}/children");
        let children = || fs::read_to_string(&path).unwrap_or_default();
        until("the keeper starts", || !children().is_empty());
        Pid::from_raw(children().trim().parse().unwrap())
    }

    fn ended(mut self) -> (Option<i32>, String) {
        use std::io::Read;
        let status = self.0.wait().unwrap();
        let mut said = String::new();
        let errors = self.0.stderr.as_mut().unwrap();
        errors.read_to_string(&mut said).unwrap();
        (status.code(), said)
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        let _ = kill(self.supervisor(), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

fn status() -> serde_json::Value {
    let output = dispatch(&["status", "--output", "json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn tid_of(task: usize) -> Option<i64> {
    status()["tasks"][task]["tid"].as_i64()
}

/// A thread that waits for its beats, and what it found in its jobs.
struct Worker {
    stop: Arc<AtomicBool>,
    jobs: Arc<AtomicU64>,
    tid: Pid,
    running: JoinHandle<Vec<(u64, i32)>>,
}

impl Worker {
    fn start(name: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let jobs = Arc::new(AtomicU64::new(0));
        let (tell, told) = std::sync::mpsc::channel();
        let (is_over, counted) = (Arc::clone(&stop), Arc::clone(&jobs));
        let running = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                tell.send(nix::unistd::gettid()).unwrap();
                let mut found = Vec::new();
                let mut beat = Beat::own();
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(own) = &beat else {
                        thread::sleep(Duration::from_millis(20));
                        beat = Beat::own();
                        continue;
                    };
                    own.done();
                    if let Some(job) = own.job() {
                        found.push((job.number, class_of(nix::unistd::gettid())));
                        counted.fetch_add(1, Ordering::Relaxed);
                    } else {
                        thread::sleep(Duration::from_millis(5));
                    }
                }
                found
            })
            .unwrap();
        Self {
            stop,
            jobs,
            tid: told.recv().unwrap(),
            running,
        }
    }

    fn wait_for_jobs(&self, count: u64) {
        let until_count = self.jobs.load(Ordering::Relaxed) + count;
        until("jobs", || self.jobs.load(Ordering::Relaxed) >= until_count);
    }

    fn finish(self) -> Vec<(u64, i32)> {
        self.stop.store(true, Ordering::Relaxed);
        self.running.join().unwrap()
    }
}

fn class_of(tid: Pid) -> i32 {
    // SAFETY: a call by values.
    unsafe { libc::sched_getscheduler(tid.as_raw()) & !libc::SCHED_RESET_ON_FORK }
}

fn cpus_of(tid: Pid) -> Vec<usize> {
    let set = sched_getaffinity(tid).unwrap();
    let is_set = |cpu: &usize| set.is_set(*cpu).unwrap();
    (0..CpuSet::count()).filter(is_set).collect()
}

fn assert_ordinary(tid: Pid, cpus: &[usize]) {
    assert_eq!(class_of(tid), libc::SCHED_OTHER);
    assert_eq!(cpus_of(tid), cpus);
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(FOLDER).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.extend(
        fs::read_dir(format!("{FOLDER}/jobs"))
            .unwrap()
            .map(|page| page.unwrap().path()),
    );
    files.sort();
    files
}

fn assert_nothing_left() {
    let left = ["jobs", "lock"].map(|name| Path::new(FOLDER).join(name));
    assert_eq!(files(), left);
    assert!(said(&dispatch(&["status"])).contains("no dispatcher is running here"));
}

#[test]
fn threads_have_their_class_in_their_slots_and_nothing_is_left() {
    let _turn = turn();
    let policy = Policy::new(POLICY);
    let dispatcher = Dispatcher::start(&policy);
    let (first, second) = (Worker::start("td-first"), Worker::start("td-second"));
    let before = cpus_of(Pid::this());
    first.wait_for_jobs(20);
    second.wait_for_jobs(10);
    assert_eq!(tid_of(0), Some(first.tid.as_raw().into()));
    assert_eq!(tid_of(1), Some(second.tid.as_raw().into()));
    assert_eq!(cpus_of(first.tid), [0]);
    let again = dispatch(&["run", policy.path().to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1));
    assert!(said(&again).contains("another dispatcher is already running"));

    kill(dispatcher.supervisor(), Signal::SIGTERM).unwrap();
    assert_eq!(dispatcher.ended(), (Some(0), String::new()));
    assert_ordinary(first.tid, &before);
    assert_ordinary(second.tid, &before);
    assert_nothing_left();
    for worker in [first, second] {
        let jobs = worker.finish();
        assert!(
            jobs.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "{jobs:?}"
        );
        // A busy host may cut a job off.
        let in_class = jobs.iter().filter(|(_, class)| *class == libc::SCHED_FIFO);
        assert!(in_class.count() * 2 > jobs.len(), "{jobs:?}");
    }
}

#[test]
fn a_killed_keeper_leaves_nothing() {
    let _turn = turn();
    let policy = Policy::new(POLICY);
    let dispatcher = Dispatcher::start(&policy);
    let worker = Worker::start("td-first");
    let before = cpus_of(Pid::this());
    worker.wait_for_jobs(3);
    kill(dispatcher.keeper(), Signal::SIGKILL).unwrap();
    let (code, said) = dispatcher.ended();
    assert_eq!(code, Some(1));
    assert!(said.contains("the keeper was killed; 1 threads"), "{said}");
    assert_ordinary(worker.tid, &before);
    assert_nothing_left();
    worker.finish();
}

#[test]
fn a_killed_supervisor_takes_the_keeper_along() {
    let _turn = turn();
    let policy = Policy::new(POLICY);
    let dispatcher = Dispatcher::start(&policy);
    let worker = Worker::start("td-first");
    let before = cpus_of(Pid::this());
    worker.wait_for_jobs(3);
    let keeper = dispatcher.keeper();
    kill(dispatcher.supervisor(), Signal::SIGKILL).unwrap();
    dispatcher.ended();
    until("the keeper ends", || kill(keeper, None).is_err());
    assert_ordinary(worker.tid, &before);
    worker.finish();
}

#[test]
fn what_both_left_is_released() {
    let _turn = turn();
    let policy = Policy::new(POLICY);
    let dispatcher = Dispatcher::start(&policy);
    let worker = Worker::start("td-first");
    let before = cpus_of(Pid::this());
    worker.wait_for_jobs(3);
    let keeper = dispatcher.keeper();
    kill(dispatcher.supervisor(), Signal::SIGSTOP).unwrap();
    kill(keeper, Signal::SIGKILL).unwrap();
    kill(dispatcher.supervisor(), Signal::SIGKILL).unwrap();
    dispatcher.ended();
    assert_eq!(cpus_of(worker.tid), [0]);
    let released = dispatch(&["release"]);
    assert!(
        said(&released).contains("1 threads restored"),
        "{}",
        said(&released)
    );
    assert_ordinary(worker.tid, &before);
    assert_nothing_left();
    worker.finish();
}

#[test]
fn a_policy_that_cannot_be_kept_changes_nothing() {
    let _turn = turn();
    let group = Policy::new(
        "[[task]]\nname = \"g\"\nperiod = \"10ms\"\nbudget = \"1ms\"\nmembers = [\"a\", \"b\"]\n",
    );
    for command in ["run", "check"] {
        let refused = dispatch(&[command, group.path().to_str().unwrap()]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(
            said(&refused).contains("task g (line 1) is a group"),
            "{}",
            said(&refused)
        );
    }
    let malformed = Policy::new("[[task]]\nname = 1\n");
    let refused = dispatch(&[
        "run",
        malformed.path().to_str().unwrap(),
        "--output",
        "json",
    ]);
    assert_eq!(refused.status.code(), Some(2));
    let errors: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert!(
        errors["errors"]
            .as_array()
            .is_some_and(|errors| !errors.is_empty())
    );
}

/// A thread's user could shorten a page of its own, and the keeper would write beyond its end.
#[test]
fn a_page_is_read_by_its_user_alone_and_stays_roots() {
    const SCRIPT: &str = r#"
        tell() { if "$@" 2>/dev/null; then echo "$1 succeeds"; else echo "$1 fails"; fi; }
        shorten() { true >"$page"; }
        printf td-first >/proc/$$/comm
        page=/run/takt-dispatch/jobs/$$
        read -r go
        tell test -r "$page"
        tell chmod u+w "$page"
        tell shorten
    "#;
    let _turn = turn();
    let policy = Policy::new(POLICY);
    let dispatcher = Dispatcher::start(&policy);
    let mut shell = Command::new("sh")
        .args(["-c", SCRIPT])
        .uid(OTHER_USER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    until("it is kept", || tid_of(0) == Some(shell.id().into()));
    let page = format!("{FOLDER}/jobs/{}", shell.id());
    let read = Command::new("cat")
        .arg(&page)
        .uid(YET_ANOTHER_USER)
        .output();
    assert!(!read.unwrap().status.success());
    drop(shell.stdin.take().unwrap());
    let output = shell.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "test succeeds\nchmod fails\nshorten fails\n"
    );
    drop(dispatcher);
    assert_nothing_left();
}

#[test]
fn another_user_may_only_look() {
    let _turn = turn();
    let run = |arguments: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(arguments)
            .uid(OTHER_USER)
            .output();
        // The program may lie where that user may not go.
        output.ok().filter(|output| output.status.code().is_some())
    };
    let policy = Policy::new(POLICY);
    let _dispatcher = Dispatcher::start(&policy);
    until("it starts", || status()["tasks"].is_array());
    if let Some(output) = run(&["release"]) {
        assert_eq!(output.status.code(), Some(3));
        assert!(said(&output).contains("only root"));
    }
    if let Some(output) = run(&["status"]) {
        assert!(output.status.success(), "{}", said(&output));
    }
}

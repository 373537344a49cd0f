//! What other users of the host do in an hour, and its second administrator.

use std::fs;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use super::daemon::SOCKET;
use super::policies::{DEVICE, EVERYTHING, FEWER, STATIONS};
use super::steps::{Do, Stage, joined};
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::A;

pub const STEPS: [(&str, Do); 5] = [
    ("many busy threads of a user", busy_threads),
    ("many groups with limits", limited_groups),
    ("qdiscs of another administrator", foreign_qdiscs),
    ("clients of taktd that say nothing", silent_clients),
    ("stations' strengths from a bad file", bad_file),
];

/// The numbers of a user without privileges and of its group.
const USER: u32 = 65_534;
const LEAST_NICE: i32 = 19;
const BUSY: usize = 120;
const GROUPS: usize = 60;
const CLIENTS: usize = 200;
/// For the busy ones to be in the way.
const WHILE: Duration = Duration::from_secs(4);

const CGROUPS: &str = "/sys/fs/cgroup";

/// Processes of another user that never sleep, until this is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start(count: usize) -> Result<Self> {
        let mut busy = Self(Vec::new());
        for _ in 0..count {
            let mut shell = Command::new("sh");
            shell.args(["-c", "while :; do :; done"]);
            shell.uid(USER).gid(USER);
            let child = shell.spawn().doing("start a busy process")?;
            // SAFETY: it takes numbers alone.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, child.id(), LEAST_NICE) };
            busy.0.push(child);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The longest time that this thread did not run, though it never sleeps.
fn longest_wait() -> Duration {
    let began = Instant::now();
    let (mut last, mut longest) = (began, Duration::ZERO);
    while last < began + WHILE {
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

fn note_wait(stage: &mut Stage, wait: Duration) {
    let wait_ms = wait.as_secs_f64() * 1e3;
    stage.done.longest_wait_ms = stage.done.longest_wait_ms.max(wait_ms);
}

/// Tasks keep their scheduler.
fn busy_threads(stage: &mut Stage) -> Result<()> {
    stage.apply(EVERYTHING)?;
    let busy = Busy::start(BUSY)?;
    note_wait(stage, longest_wait());
    drop(busy);
    stage.run(&["status"]).map(drop)
}

/// Control groups below one, until this is dropped.
struct Groups(PathBuf);

impl Groups {
    fn make(count: usize) -> Result<(Self, Vec<PathBuf>)> {
        let above = Path::new(CGROUPS).join("soak");
        let turn_on = |path: &Path| fs::write(path.join("cgroup.subtree_control"), "+cpu");
        turn_on(Path::new(CGROUPS)).doing("turn a controller on")?;
        fs::create_dir(&above).doing("make a control group")?;
        let groups = Self(above.clone());
        turn_on(&above).doing("turn a controller on")?;
        let below: Vec<_> = (0..count).map(|n| above.join(n.to_string())).collect();
        for path in &below {
            fs::create_dir(path).doing("make a control group")?;
        }
        Ok((groups, below))
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        let _ = fs::remove_dir(&self.0);
        let _ = fs::write(Path::new(CGROUPS).join("cgroup.subtree_control"), "-cpu");
    }
}

/// Limits are set, changed and taken back while threads wait for them.
fn limited_groups(stage: &mut Stage) -> Result<()> {
    let (groups, paths) = Groups::make(GROUPS)?;
    stage.apply(EVERYTHING)?;
    let busy = Busy::start(GROUPS)?;
    for (path, child) in paths.iter().zip(&busy.0) {
        fs::write(path.join("cgroup.procs"), child.id().to_string())
            .doing("move a process to its group")?;
    }
    for limit in ["1000 1000000", "20000 100000", "1000 10000", "max 100000"] {
        for path in &paths {
            fs::write(path.join("cpu.max"), limit).doing("limit a group")?;
        }
        note_wait(stage, longest_wait());
    }
    drop(busy);
    drop(groups);
    stage.run(&["status"]).map(drop)
}

/// Takt replaces what it can give back, and gives it back; the rest it refuses.
fn foreign_qdiscs(stage: &mut Stage) -> Result<()> {
    let shown = || A.run(|| command::run("tc", &["qdisc", "show", "dev", DEVICE]));
    stage.run(&["revert"])?;
    let policy = stage.policy(FEWER)?;
    for qdisc in [
        "fq_codel limit 500 target 10ms",
        "sfq perturb 10 limit 64",
        "prio bands 4 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "tbf rate 100mbit burst 20kb latency 50ms",
        "cake bandwidth 40mbit nat",
        "netem delay 1ms",
        "htb default 1",
    ] {
        let words: Vec<_> = ["qdisc", "replace", "dev", DEVICE, "root"]
            .into_iter()
            .chain(qdisc.split(' '))
            .collect();
        A.run(|| command::run("tc", &words))?;
        let before = shown()?;
        // Whether it is replaced or refused is not the question.
        let _ = stage.run(&["apply", "--replace", &policy]);
        stage.run(&["revert"])?;
        let after = shown()?;
        if after != before {
            return Err(ExperimentError::Command {
                command: format!("takt revert after {qdisc}"),
                stderr: format!("{before} became {after}"),
            });
        }
    }
    A.run(|| command::run("tc", &["qdisc", "del", "dev", DEVICE, "root"]))?;
    stage.apply(FEWER)
}

/// taktd serves others all the same.
fn silent_clients(stage: &mut Stage) -> Result<()> {
    stage.apply(EVERYTHING)?;
    let connect = || -> Result<Vec<UnixStream>> {
        // SAFETY: it takes numbers alone, and changes this thread's user, not the process's.
        let done = unsafe { libc::syscall(libc::SYS_setresuid, USER, USER, USER) };
        if done != 0 {
            return Err(std::io::Error::last_os_error()).doing("become another user");
        }
        // Whether taktd keeps them all is not the question.
        Ok((0..CLIENTS)
            .filter_map(|_| UnixStream::connect(SOCKET).ok())
            .collect())
    };
    let silent = thread::scope(|scope| joined(scope.spawn(connect)))?;
    if silent.is_empty() {
        return Err(ExperimentError::Command {
            command: "connect".to_owned(),
            stderr: format!("no user can connect to {SOCKET}"),
        });
    }
    stage.run(&["background", "add", "192.0.2.10:873", "--for", "60s"])?;
    drop(silent);
    stage.send()
}

/// A dead source holds no station up: packets to one whose last weight was 0 arrive.
fn bad_file(stage: &mut Stage) -> Result<()> {
    let file = stage.file("stations.txt");
    let write = |text: &str| fs::write(&file, text).doing("write strengths");
    write("02:00:00:00:09:02 0\n")?;
    let policy = stage.policy(&STATIONS.replace("FILE", &file.to_string_lossy()))?;
    stage.run(&["apply", &policy])?;
    for text in ["02:00:00:00:09:02 ten\n", "", "\0\n"] {
        write(text)?;
        thread::sleep(Duration::from_secs(8));
        stage.send()?;
    }
    fs::remove_file(&file).doing("remove strengths")?;
    thread::sleep(Duration::from_secs(8));
    stage.send()?;
    stage.apply(EVERYTHING)
}

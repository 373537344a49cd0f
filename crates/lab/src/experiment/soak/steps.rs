//! What happens in an hour.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime, clock_settime};
use tempfile::TempDir;

use super::daemon::Served;
use super::policies::{ALL, DEPARTURE, DEVICE, EVERYTHING, FEWER, OTHER_NAME, PEER, TREE};
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::{A, B};

/// How long a device or a qdisc may take to carry the policy again.
const PATIENCE: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(5);

/// Datagrams of each look whether traffic passes.
const DATAGRAMS: u32 = 50;
const PACKET_BYTES: usize = 1000;
const SPACING: Duration = Duration::from_millis(2);
const PORT: u16 = 5001;
const NEAR: &str = "10.9.0.1";
const FAR: &str = "10.9.0.2";

/// When takt is killed, after it began.
const KILLS_MS: [u64; 6] = [3, 20, 80, 200, 500, 900];

pub type Do = fn(&mut Stage) -> Result<()>;

/// All steps, by name.
pub const STEPS: [(&str, Do); 10] = [
    ("each policy after the other", each_policy),
    ("the policy again, and reverted", again),
    ("takt killed while it applies", takt_killed),
    ("taktd killed", taktd_killed),
    ("the device gone and back", gone_and_back),
    ("the device renamed", renamed),
    ("the qdisc replaced", replaced),
    ("little memory", little_memory),
    ("the clock set", clock_set),
    ("programs in the background", programs),
];

/// What came of an hour.
#[derive(Debug, Default)]
pub struct Done {
    pub device_mended_max_ms: f64,
    pub qdisc_mended_max_ms: f64,
    /// Of those sent beside kills of taktd, and after each step.
    pub packets_lost: usize,
    /// Of a thread that never sleeps, beside those of other users.
    pub longest_wait_ms: f64,
}

/// The device, the policies and the taktd of an hour.
pub struct Stage<'a> {
    takt: &'a Path,
    served: &'a mut Served,
    dir: TempDir,
    pub done: Done,
}

impl<'a> Stage<'a> {
    pub fn new(takt: &'a Path, served: &'a mut Served) -> Result<Self> {
        make_device()?;
        Ok(Self {
            takt,
            served,
            dir: tempfile::tempdir().doing("make a directory for policies")?,
            done: Done::default(),
        })
    }

    /// Take everything back.
    pub fn end(self) -> Result<Done> {
        self.run(&["revert"])?;
        A.run(|| command::run("ip", &["link", "del", DEVICE]))?;
        Ok(self.done)
    }

    pub fn run(&self, words: &[&str]) -> Result<String> {
        A.run(|| command::run(self.takt, words))
    }

    pub fn policy(&self, text: &str) -> Result<String> {
        let path = self.file("policy.toml");
        fs::write(&path, text).doing("write a policy")?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// The path of a file beside the policy.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn apply(&mut self, text: &str) -> Result<()> {
        let policy = self.policy(text)?;
        self.run(&["apply", &policy])?;
        self.send()
    }

    /// Wait until the device carries takt; return for how long.
    fn mended(&self) -> Result<f64> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let shown = A.run(|| command::run("tc", &["qdisc", "show", "dev", DEVICE]))?;
            if shown.starts_with("qdisc takt ") {
                return Ok(began.elapsed().as_secs_f64() * 1e3);
            }
            thread::sleep(STEP);
        }
        Err(ExperimentError::Command {
            command: "taktd".to_owned(),
            stderr: format!(
                "{DEVICE} does not carry takt after {} s",
                PATIENCE.as_secs()
            ),
        })
    }

    /// Datagrams slower than their class's rate: all arrive.
    pub fn send(&mut self) -> Result<()> {
        self.under_load(|_| {
            thread::sleep(SPACING * DATAGRAMS);
            Ok(())
        })
    }

    /// Datagrams slower than their class's rate, during a work that packets must not notice.
    fn under_load(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let receiver = B.run(|| UdpSocket::bind((FAR, PORT)).doing("bind a socket"))?;
        let sender = A.run(|| UdpSocket::bind((NEAR, 0)).doing("bind a socket"))?;
        let wait = Some(Duration::from_secs(1));
        receiver
            .set_read_timeout(wait)
            .doing("wait for datagrams")?;
        let is_done = AtomicBool::new(false);
        let (sent, arrived, worked) = thread::scope(|scope| {
            let sends = scope.spawn(|| -> Result<usize> {
                let mut sent = 0;
                while !is_done.load(Ordering::Relaxed) {
                    sender
                        .send_to(&[0; PACKET_BYTES], (FAR, PORT))
                        .doing("send a datagram")?;
                    sent += 1;
                    thread::sleep(SPACING);
                }
                Ok(sent)
            });
            let receives = scope.spawn(|| {
                let mut arrived = 0;
                loop {
                    match receiver.recv(&mut [0; 2 * PACKET_BYTES]) {
                        Ok(_) => arrived += 1,
                        // None for a second.
                        Err(_) if is_done.load(Ordering::Relaxed) => return arrived,
                        Err(_) => {}
                    }
                }
            });
            let worked = work(self);
            is_done.store(true, Ordering::Relaxed);
            (joined(sends), joined(receives), worked)
        });
        worked?;
        self.done.packets_lost += sent?.saturating_sub(arrived);
        Ok(())
    }
}

pub fn joined<T>(thread: thread::ScopedJoinHandle<T>) -> T {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn make_device() -> Result<()> {
    let script = format!(
        "link add {DEVICE} address 02:00:00:00:09:01 type veth peer name {PEER} netns b \
         address 02:00:00:00:09:02\nlink set {DEVICE} up\naddr add {NEAR}/24 dev {DEVICE}\n\
         neigh replace {FAR} lladdr 02:00:00:00:09:02 dev {DEVICE}\n"
    );
    A.run(|| command::ip_batch(&script))?;
    let script = format!("link set {PEER} up\naddr add {FAR}/24 dev {PEER}\n");
    B.run(|| command::ip_batch(&script))
}

fn each_policy(stage: &mut Stage) -> Result<()> {
    ALL.iter()
        .chain(ALL.iter().rev())
        .try_for_each(|text| stage.apply(text))
}

fn again(stage: &mut Stage) -> Result<()> {
    for _ in 0..3 {
        stage.apply(EVERYTHING)?;
        stage.apply(EVERYTHING)?;
        stage.run(&["revert"])?;
        stage.run(&["revert"])?;
    }
    Ok(())
}

fn takt_killed(stage: &mut Stage) -> Result<()> {
    for (text, kill_ms) in ALL.iter().cycle().zip(KILLS_MS) {
        let policy = stage.policy(text)?;
        let mut takt = A.run(|| {
            let mut takt = Command::new(stage.takt);
            takt.args(["apply", &policy])
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            takt.spawn().doing("start takt")
        })?;
        thread::sleep(Duration::from_millis(kill_ms));
        takt.kill().doing("kill takt")?;
        takt.wait().doing("wait for takt's end")?;
    }
    stage.apply(EVERYTHING)
}

fn taktd_killed(stage: &mut Stage) -> Result<()> {
    stage.apply(EVERYTHING)?;
    stage.under_load(|stage| {
        for _ in 0..5 {
            stage.served.kill()?;
            stage.run(&["background", "add", "192.0.2.10:873"])?;
        }
        Ok(())
    })
}

fn gone_and_back(stage: &mut Stage) -> Result<()> {
    stage.apply(EVERYTHING)?;
    for _ in 0..3 {
        A.run(|| command::run("ip", &["link", "del", DEVICE]))?;
        thread::sleep(Duration::from_secs(3));
        make_device()?;
        let took_ms = stage.mended()?;
        stage.done.device_mended_max_ms = stage.done.device_mended_max_ms.max(took_ms);
        stage.send()?;
    }
    Ok(())
}

fn renamed(stage: &mut Stage) -> Result<()> {
    stage.apply(FEWER)?;
    for (from, to) in [(DEVICE, OTHER_NAME), (OTHER_NAME, DEVICE)] {
        A.run(|| command::run("ip", &["link", "set", from, "name", to]))?;
        thread::sleep(Duration::from_secs(2));
        stage.send()?;
    }
    Ok(())
}

fn replaced(stage: &mut Stage) -> Result<()> {
    stage.apply(FEWER)?;
    for _ in 0..3 {
        A.run(|| command::run("tc", &["qdisc", "replace", "dev", DEVICE, "root", "pfifo"]))?;
        let took_ms = stage.mended()?;
        stage.done.qdisc_mended_max_ms = stage.done.qdisc_mended_max_ms.max(took_ms);
        stage.send()?;
    }
    // Reverting puts back what the other program has set up.
    stage.run(&["revert"])?;
    A.run(|| command::run("tc", &["qdisc", "del", "dev", DEVICE, "root"]))?;
    Ok(())
}

/// Policies are applied, or refused as a whole, while there is little left.
fn little_memory(stage: &mut Stage) -> Result<()> {
    let taken = little_left()?;
    for text in ALL {
        let policy = stage.policy(text)?;
        // Whether there was enough is not the question.
        let _ = stage.run(&["apply", &policy]);
    }
    drop(taken);
    stage.apply(TREE)
}

/// Take all but this much.
fn little_left() -> Result<Vec<Vec<u8>>> {
    const LEFT_KB: u64 = 48 << 10;
    const PIECE: usize = 1 << 20;
    let available_kb = || -> Result<u64> {
        let memory = fs::read_to_string("/proc/meminfo").doing("read the memory's figures")?;
        let mut lines = memory.lines();
        let figure = lines.find_map(|line| line.strip_prefix("MemAvailable:"));
        let figure = figure.and_then(|figure| figure.split_whitespace().next());
        Ok(figure.and_then(|kb| kb.parse().ok()).unwrap_or_default())
    };
    let mut taken = Vec::new();
    while available_kb()? > LEFT_KB {
        // Written to, or it would not be there.
        taken.push(vec![1; PIECE]);
    }
    Ok(taken)
}

/// Of the day: takt's own clocks do not follow it.
fn clock_set(stage: &mut Stage) -> Result<()> {
    stage.apply(DEPARTURE)?;
    for seconds in [86_400i64, -90_000, 3_600] {
        let clock = ClockId::CLOCK_REALTIME;
        let now = Duration::from(clock_gettime(clock).doing("read the clock")?);
        let then = match seconds {
            0.. => now + Duration::from_secs(seconds as u64),
            _ => now.saturating_sub(Duration::from_secs(seconds.unsigned_abs())),
        };
        clock_settime(clock, then.into()).doing("set the clock")?;
        stage.send()?;
    }
    Ok(())
}

fn programs(stage: &mut Stage) -> Result<()> {
    stage.apply(EVERYTHING)?;
    for _ in 0..3 {
        stage.run(&["run", "--background", "--", "true"])?;
        stage.run(&["run", "--period", "40ms", "--budget", "1ms", "--", "true"])?;
        stage.run(&["background", "add", "192.0.2.10:873", "--for", "60s"])?;
        stage.run(&["status", "--tasks", "--flows"])?;
        stage.run(&["metrics"])?;
    }
    Ok(())
}

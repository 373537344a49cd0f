//! Threads on the beat: their jobs, and the scheduler's report of them.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::{
    sys::time::TimeSpec,
    time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep},
};
use takt_algo::{
    Plain, from_bytes,
    sys::{TAKT_MEMBERS, takt_beats, takt_cpu, takt_member, takt_task},
};

use crate::{kernel_bpf::value, kernel_log};

const NS_PER_S: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;
pub const US: u64 = 1_000;

pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    now.tv_sec() as u64 * NS_PER_S + now.tv_nsec() as u64
}

pub fn sleep_until(time_ns: u64) {
    let until = TimeSpec::new((time_ns / NS_PER_S) as i64, (time_ns % NS_PER_S) as i64);
    let clock = ClockId::CLOCK_MONOTONIC;
    clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &until).unwrap();
}

pub fn spin(for_ns: u64) {
    let end_ns = now_ns() + for_ns;
    while now_ns() < end_ns {}
}

/// Uses so much processor time, however long that takes.
pub fn work(for_ns: u64) {
    let used_ns = || {
        let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
        used.tv_sec() as u64 * NS_PER_S + used.tv_nsec() as u64
    };
    let end_ns = used_ns() + for_ns;
    while used_ns() < end_ns {}
}

/// The thread's own name, which a task matches.
pub fn take_name(name: &str) {
    fs::write("/proc/thread-self/comm", name).unwrap();
}

/// A thread that does so many jobs. Its result is the begin of each.
pub fn member(
    name: &'static str,
    jobs: u64,
    mut job: impl FnMut(u64) + Send + 'static,
) -> JoinHandle<Vec<u64>> {
    thread::spawn(move || {
        take_name(name);
        thread::yield_now();
        let do_job = |number| {
            let start_ns = now_ns();
            job(number);
            thread::yield_now();
            start_ns
        };
        (0..jobs).map(do_job).collect()
    })
}

/// Assert that each job but the first began within 50 us of its beat, one in every period.
#[track_caller]
pub fn assert_on_beat(starts_ns: &[u64], period_ns: u64, beat_ns: u64) {
    assert_phases(&starts_ns[1..], period_ns, beat_ns, 50 * US);
    for pair in starts_ns[1..].windows(2) {
        let period = |start_ns| (start_ns + EARLY_NS) / period_ns;
        assert_eq!(
            period(pair[1]),
            period(pair[0]) + 1,
            "not one job in every period"
        );
    }
}

/// A thread may start so long before its beat if the kernel's tick comes then.
const EARLY_NS: u64 = 100;

/// Assert that each began at most so long after its beat.
#[track_caller]
pub fn assert_phases(starts_ns: &[u64], period_ns: u64, beat_ns: u64, late_max_ns: u64) {
    for start_ns in starts_ns {
        let late_ns = ((start_ns + EARLY_NS) % period_ns).wrapping_sub(beat_ns);
        assert!(
            late_ns <= late_max_ns + EARLY_NS,
            "began {} ns into its period, and not at {beat_ns}",
            start_ns % period_ns
        );
    }
}

/// A shell, or what it would run, until this is dropped.
pub struct Shell(Child);

impl Shell {
    pub fn new(script: &str) -> Self {
        let shell = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::null())
            .spawn();
        Self(shell.unwrap())
    }

    /// A thread that never sleeps, with this name.
    pub fn busy(name: &str) -> Self {
        Self::new(&format!(
            "printf {name} > /proc/$$/comm; while :; do :; done"
        ))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// The processor time that its first thread has used.
    pub fn ran_ns(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/schedstat", self.pid())).unwrap();
        stat.split(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn sleep_ms(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

fn read<T: Plain>(map: &str, key: u32) -> Box<T> {
    let bytes = value(&format!("/sys/fs/bpf/takt-beats/{map}"), key);
    from_bytes(&bytes).expect("a value of this build")
}

/// Tasks of the policy that was applied first count from 0, in its order.
pub fn task(id: u32) -> Box<takt_task> {
    read("takt_tasks", id)
}

pub fn holder(member: u32) -> u32 {
    read::<takt_member>("takt_members", member).tid
}

pub fn reservations() -> usize {
    (0..TAKT_MEMBERS).filter(|at| holder(*at) != 0).count()
}

/// Waits until so many threads have joined.
#[track_caller]
pub fn wait_for_reservations(count: usize) {
    let have_joined = (0..60_000).any(|_| {
        let have_joined = reservations() >= count;
        if !have_joined {
            sleep_ms(1);
        }
        have_joined
    });
    assert!(have_joined, "{} of {count} threads", reservations());
}

pub fn generation() -> u32 {
    read::<takt_beats>("takt_beats", 0).generation
}

/// The number of last-level caches, and each processor's.
pub fn caches(processors: u32) -> (u32, Vec<u32>) {
    let of = |cpu| read::<takt_cpu>("takt_cpus", cpu).llc;
    let count = read::<takt_beats>("takt_beats", 0).llc_count;
    (count, (0..processors).map(of).collect())
}

pub fn state() -> String {
    fs::read_to_string("/sys/kernel/sched_ext/state")
        .unwrap()
        .trim()
        .to_owned()
}

/// Assert that the scheduler runs, and that the kernel has never ended it.
#[track_caller]
pub fn assert_stands() {
    assert_never_ejected();
    assert_eq!(state(), "enabled");
}

#[track_caller]
pub fn assert_never_ejected() {
    let said = kernel_log::of_this_test();
    let told: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("sched_ext"))
        .collect();
    let is_ejection =
        |line: &&str| line.contains("disabled (") && !line.contains("unregistered from user space");
    // The line after it names the thread that waited.
    assert!(!told.iter().any(is_ejection), "{told:#?}");
}

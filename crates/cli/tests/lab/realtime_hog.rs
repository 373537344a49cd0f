//! A realtime thread that never sleeps leaves ordinary threads what the kernel's own scheduler
//! would leave them: by the kernel's ext server, or because Takt's scheduler ends itself.

use std::{
    fs,
    os::unix::thread::JoinHandleExt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use libc::clockid_t;
use nix::{
    sched::{CpuSet, sched_setaffinity},
    time::{ClockId, clock_gettime},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    metronome::{MS, US, now_ns, sleep_ms, spin, state, take_name},
    takt::{apply, assert_no_trace, takt},
};

const UNUSED: &str = r#"
[[task]]
name = "unused"
period = "40ms"
budget = "1ms"
"#;

const S: u64 = 1000 * MS;
/// Both servers give a thread its part once a second, at the second's end.
const UNTIL_SERVED: u64 = S;
const MEASURED: u64 = 2 * S;
const SETTLES_MS: u64 = 1000;
/// A scheduler that has not ended by then does not end.
const END_MAX: u64 = 10 * S;

/// What a hog waits for before it measures what ordinary threads get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The end of the scheduler, and then [`UNTIL_SERVED`].
    ItEnds,
    /// [`UNTIL_SERVED`].
    Served,
}

/// What a hog saw.
struct Seen {
    /// When the scheduler had ended.
    ended_ns: Option<u64>,
    /// Of the processor, for an ordinary thread.
    share: f64,
}

#[test]
fn beside_it_ordinary_threads_go_back_to_the_kernel() {
    DEFAULT.run(|| {
        for priority in [10, 98] {
            apply(UNUSED)
                .says(&["a realtime thread that never sleeps ends the scheduler"])
                .ok();
            is_ended_by_a_hog(priority);
        }
        apply(UNUSED).says(&["the scheduler is loaded"]).ok();
        assert!(is_realtime("rcu_preempt"));
        takt("revert").ok();
        assert!(!is_realtime("rcu_preempt"));
        assert_no_trace();
    });
}

#[test]
fn one_of_the_highest_priority_leaves_another_processor_to_end_it() {
    TWO_PROCESSORS.run(|| {
        apply(UNUSED).ok();
        is_ended_by_a_hog(99);
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn the_kernels_ext_server_serves_ordinary_threads() {
    NEWEST.run(|| {
        let said = apply(UNUSED).ok();
        assert!(!said.contains("realtime"), "{said}");
        for priority in [10, 99] {
            let seen = beside_a_hog(priority, Until::Served);
            assert!(seen.share >= 0.04, "priority {priority}: {}", seen.share);
        }
        takt("status").says(&["beats  running"]).ok();
        assert!(!is_realtime("rcu_preempt"));
        takt("revert").ok();
        assert_no_trace();
    });
}

/// One that sleeps for a moment now and then is no better, and one that leaves others their part no
/// worse than under the kernel's own scheduler.
#[test]
fn what_counts_is_how_long_others_wait_and_not_whether_it_sleeps() {
    DEFAULT.run(|| {
        apply(UNUSED).ok();
        for (sleeps_ns, stands) in [
            (400 * MS, true),
            (40 * MS, true),
            (4 * MS, true),
            (20_000, false),
        ] {
            let longest_ns = beside_a_sleeper(400 * MS, sleeps_ns, 4 * S);
            println!("sleeps {sleeps_ns} ns: {longest_ns} ns");
            assert!(
                longest_ns < 5 * S / 2,
                "sleeps {sleeps_ns} ns: {longest_ns} ns"
            );
            assert_eq!(state() == "enabled", stands, "sleeps {sleeps_ns} ns");
        }
        takt("revert").ok();
        assert_no_trace();
    });
}

/// The realtime thread has 1, 50 and 99 % of the time.
#[test]
fn beside_any_part_of_the_time_others_wait_about_as_long_as_without_beats() {
    DEFAULT.run(|| {
        for works_us in [400, 20_000, 39_600] {
            let sleeps_us = 40_000 - works_us;
            let longest_ns = || beside_a_sleeper(works_us * US, sleeps_us * US, 2 * S);
            let kernels_ns = longest_ns();
            apply(UNUSED).ok();
            let longest_ns = longest_ns();
            println!("works {works_us} us: {longest_ns} ns, without beats {kernels_ns}");
            assert!(
                longest_ns <= 2 * kernels_ns,
                "works {works_us} us: {longest_ns} > 2 * {kernels_ns}"
            );
            assert_eq!(state(), "enabled", "works {works_us} us");
            takt("revert").ok();
        }
        assert_no_trace();
    });
}

/// The longest wait but one of an ordinary thread beside a realtime one that works and sleeps by
/// turns. What the realtime thread causes comes with its turns; one wait may be for work of the
/// kernel's that another caused.
fn beside_a_sleeper(works_ns: u64, sleeps_ns: u64, for_ns: u64) -> u64 {
    // A scheduler that has just come or gone leaves the kernel's workers up to 3 ms of work.
    sleep_ms(SETTLES_MS);
    let ends = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&ends);
    let ordinary = thread::spawn(move || {
        on_the_first_processor();
        let (mut last_ns, mut longest_ns, mut next_ns) = (now_ns(), 0, 0);
        while !is_over.load(SeqCst) {
            let now_ns = now_ns();
            let waited_ns = now_ns - last_ns;
            next_ns = next_ns.max(waited_ns.min(longest_ns));
            longest_ns = longest_ns.max(waited_ns);
            last_ns = now_ns;
        }
        next_ns
    });
    sleep_ms(50);
    let hog = thread::spawn(move || {
        take_name("hog");
        on_the_first_processor();
        set_realtime(10);
        let end_ns = now_ns() + for_ns;
        while now_ns() < end_ns {
            spin(works_ns);
            thread::sleep(Duration::from_nanos(sleeps_ns));
        }
    });
    hog.join().unwrap();
    ends.store(true, SeqCst);
    ordinary.join().unwrap()
}

/// Within a second; ordinary threads then have nearly the 5 % that the kernel leaves them.
#[track_caller]
fn is_ended_by_a_hog(priority: i32) {
    let seen = beside_a_hog(priority, Until::ItEnds);
    let ended_ns = seen.ended_ns.expect("the scheduler ends");
    println!(
        "priority {priority}: after {ended_ns} ns, then {:.4}",
        seen.share
    );
    assert!(ended_ns < S, "priority {priority}: after {ended_ns} ns");
    assert!(seen.share >= 0.04, "priority {priority}: {}", seen.share);
    takt("status")
        .says(&[
            "beats  ended",
            "takt ended the scheduler of beats: a realtime thread never sleeps (hog, thread ",
        ])
        .ends_with(4);
    let status = takt("status --output json").json();
    assert_eq!(status["beats"]["running"], Value::Bool(false));
}

/// An ordinary thread and a hog on one processor.
fn beside_a_hog(priority: i32, until: Until) -> Seen {
    let ends = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&ends);
    let ordinary = thread::spawn(move || {
        on_the_first_processor();
        while !is_over.load(SeqCst) {}
    });
    sleep_ms(50);
    let ordinary_ns = clock_of(ordinary.as_pthread_t());
    let hog = thread::spawn(move || {
        take_name("hog");
        on_the_first_processor();
        set_realtime(priority);
        watch(ordinary_ns, until)
    });
    let seen = hog.join().unwrap();
    ends.store(true, SeqCst);
    ordinary.join().unwrap();
    seen
}

/// The hog's work: it never sleeps.
fn watch(ordinary_ns: impl Fn() -> u64, until: Until) -> Seen {
    let begin_ns = now_ns();
    let mut ended_ns = None;
    let mut look_ns = begin_ns;
    let mut served = None;
    loop {
        let now_ns = now_ns();
        if now_ns >= look_ns {
            look_ns = now_ns + 10 * MS;
            if ended_ns.is_none() && state() == "disabled" {
                ended_ns = Some(now_ns - begin_ns);
            }
        }
        let from_ns = match until {
            Until::Served => Some(0),
            Until::ItEnds => ended_ns.or((now_ns - begin_ns > END_MAX).then_some(END_MAX)),
        };
        if served.is_none()
            && from_ns.is_some_and(|from_ns| now_ns >= begin_ns + from_ns + UNTIL_SERVED)
        {
            served = Some((now_ns, ordinary_ns()));
        }
        if let Some((since_ns, before_ns)) = served
            && now_ns >= since_ns + MEASURED
        {
            let got_ns = ordinary_ns() - before_ns;
            return Seen {
                ended_ns,
                share: got_ns as f64 / (now_ns - since_ns) as f64,
            };
        }
    }
}

fn on_the_first_processor() {
    let mut only = CpuSet::new();
    only.set(0).unwrap();
    sched_setaffinity(Pid::from_raw(0), &only).unwrap();
}

fn set_realtime(sched_priority: i32) {
    let param = libc::sched_param { sched_priority };
    // SAFETY: a valid struct.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) };
    assert_eq!(done, 0);
}

/// The processor time of a thread of this process that has not ended.
fn clock_of(thread: libc::pthread_t) -> impl Fn() -> u64 {
    let mut clock: clockid_t = 0;
    // SAFETY: the thread lives, and the clock is written to.
    let found = unsafe { libc::pthread_getcpuclockid(thread, &mut clock) };
    assert_eq!(found, 0);
    move || {
        let used = clock_gettime(ClockId::from_raw(clock)).unwrap();
        used.tv_sec() as u64 * S + used.tv_nsec() as u64
    }
}

fn is_realtime(kernel_thread: &str) -> bool {
    let mut processes = fs::read_dir("/proc").unwrap().flatten();
    let found = processes.find(|process| {
        let name = fs::read_to_string(process.path().join("comm"));
        name.is_ok_and(|name| name.trim() == kernel_thread)
    });
    let tid = found.expect("the kernel has it").file_name();
    let tid = tid.to_str().unwrap().parse().unwrap();
    // SAFETY: it takes a number alone.
    unsafe { libc::sched_getscheduler(tid) == libc::SCHED_FIFO }
}

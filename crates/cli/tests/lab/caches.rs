//! Ordinary threads on processors with two last-level caches, each of which has a queue: none
//! waits while a processor idles, and all get equal parts.
//!
//! The machine's time is the host's, so only ratios are asserted.

use std::fs;

use nix::{
    sched::{CpuSet, sched_setaffinity},
    unistd::Pid,
};

use crate::{
    control_group::Group,
    machine::TWO_CACHES,
    metronome::{Shell, assert_stands, caches, sleep_ms},
    takt::{apply, assert_no_trace, takt},
};

/// No thread joins it.
const TASK: &str = r#"
[[task]]
name = "never"
period = "40ms"
budget = "1ms"
"#;

const PROCESSORS: u32 = 4;
const FIRST_CACHE: [usize; 2] = [0, 1];
const SECOND_CACHE: [usize; 2] = [2, 3];
const EVERYWHERE: [usize; 4] = [0, 1, 2, 3];

const WINDOW_MS: u64 = 4_000;
/// The least that a thread has of its part.
const FAIR: f64 = 0.7;
/// Likewise, if it is bound to processors that others outrun: the virtual time is the others'.
const BOUND: f64 = 0.3;
/// The beat's slot and the test's own threads use some of the rest.
const BUSY: f64 = 0.9;

fn busy(count: usize) -> Vec<Shell> {
    (0..count).map(|_| Shell::busy("busy")).collect()
}

fn confine(shells: &[Shell], processors: &[usize]) {
    let mut cpus = CpuSet::new();
    for at in processors {
        cpus.set(*at).unwrap();
    }
    for shell in shells {
        sched_setaffinity(Pid::from_raw(shell.pid() as i32), &cpus).unwrap();
    }
}

/// The time that all processors together were idle, and all time, in the kernel's ticks.
fn idle_of_all() -> (u64, u64) {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let all = stat.lines().next().unwrap().split_whitespace().skip(1);
    let ticks: Vec<u64> = all.map(|ticks| ticks.parse().unwrap()).collect();
    (ticks[3] + ticks[4], ticks.iter().sum())
}

struct Seen {
    /// Of the time that these threads ran, each one's part.
    parts: Vec<f64>,
    /// The part of the processors' time in which they were not idle.
    busy: f64,
}

fn see(shells: &[Shell]) -> Seen {
    let look = || shells.iter().map(Shell::ran_ns).collect::<Vec<_>>();
    let (before, idle_before) = (look(), idle_of_all());
    sleep_ms(WINDOW_MS);
    let (after, idle_after) = (look(), idle_of_all());
    let ran = before.iter().zip(&after);
    let ran: Vec<_> = ran.map(|(before, after)| (after - before) as f64).collect();
    let all: f64 = ran.iter().sum();
    let idle = (idle_after.0 - idle_before.0) as f64 / (idle_after.1 - idle_before.1) as f64;
    let seen = Seen {
        parts: ran.iter().map(|ran| ran / all).collect(),
        busy: 1.0 - idle,
    };
    println!("parts {:.3?}, busy {:.3}", seen.parts, seen.busy);
    seen
}

/// Assert that each of these has its part of all time, and that no processor idled.
#[track_caller]
fn assert_equal(shells: &[Shell]) {
    let Seen { parts, busy } = see(shells);
    let least = FAIR / parts.len() as f64;
    assert!(parts.iter().all(|part| *part >= least), "{parts:.3?}");
    assert!(busy >= BUSY, "{busy}");
}

#[track_caller]
fn begin() {
    apply(TASK).ok();
    assert_eq!(caches(PROCESSORS), (2, vec![0, 0, 1, 1]));
}

#[track_caller]
fn end() {
    assert_stands();
    takt("revert").ok();
    assert_no_trace();
}

#[test]
fn threads_of_both_have_equal_parts() {
    TWO_CACHES.run(|| {
        begin();
        let mut shells = busy(6);
        sleep_ms(500);
        assert_equal(&shells);
        // They cannot be divided evenly: the threads of the fuller cache must move.
        shells.push(Shell::busy("busy"));
        sleep_ms(500);
        assert_equal(&shells);
        shells.truncate(5);
        sleep_ms(500);
        assert_equal(&shells);
        drop(shells);
        end();
    });
}

#[test]
fn weights_hold_in_both() {
    TWO_CACHES.run(|| {
        begin();
        let mut shells = busy(8);
        for shell in &shells[3..] {
            // SAFETY: it takes numbers alone.
            let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, shell.pid(), 5) };
            assert_eq!(done, 0);
        }
        sleep_ms(500);
        let Seen { parts, busy } = see(&shells);
        // As in the kernel's own class.
        let weights = [vec![1024.0; 3], vec![335.0; 5]].concat();
        let all: f64 = weights.iter().sum();
        let mut both = parts.iter().zip(weights);
        assert!(
            both.all(|(part, weight)| *part >= FAIR * weight / all),
            "{parts:.3?}"
        );
        assert!(busy >= BUSY, "{busy}");
        shells.clear();
        end();
    });
}

fn set_online(processors: &[usize], online: &str) {
    for at in processors {
        let path = format!("/sys/devices/system/cpu/cpu{at}/online");
        fs::write(path, online).unwrap();
    }
}

#[test]
fn threads_of_a_cache_that_goes_offline_go_on() {
    TWO_CACHES.run(|| {
        begin();
        let shells = busy(6);
        sleep_ms(500);
        for _ in 0..2 {
            set_online(&SECOND_CACHE, "0");
            sleep_ms(500);
            assert_equal(&shells);
            set_online(&SECOND_CACHE, "1");
            sleep_ms(500);
        }
        assert_equal(&shells);
        drop(shells);
        end();
    });
}

#[test]
fn threads_spread_to_the_other_cache() {
    TWO_CACHES.run(|| {
        begin();
        let shells = busy(4);
        confine(&shells, &FIRST_CACHE);
        sleep_ms(500);
        // Half of the processors.
        let Seen { parts, busy } = see(&shells);
        assert!(parts.iter().all(|part| *part >= FAIR / 4.0), "{parts:.3?}");
        assert!(busy < 0.75, "{busy}");
        confine(&shells, &EVERYWHERE);
        sleep_ms(500);
        assert_equal(&shells);
        drop(shells);
        end();
    });
}

#[test]
fn threads_bound_to_one_cache_run_there() {
    TWO_CACHES.run(|| {
        begin();
        let bound = busy(3);
        confine(&bound, &SECOND_CACHE);
        // They come to the processors that the others do not need.
        let free = busy(2);
        sleep_ms(500);
        let mut shells: Vec<_> = bound.into_iter().chain(free).collect();
        let Seen { parts, busy } = see(&shells);
        // 2/3 of a processor for each that is bound, and one for each other.
        let least = |part: f64, fair: f64| part / f64::from(PROCESSORS) * fair;
        let have = |parts: &[f64], least| parts.iter().all(|part| *part >= least);
        assert!(have(&parts[..3], least(2.0 / 3.0, BOUND)), "{parts:.3?}");
        assert!(have(&parts[3..], least(1.0, FAIR)), "{parts:.3?}");
        assert!(busy >= BUSY, "{busy}");
        // From one cache to the other, while all processors are busy.
        confine(&shells[..3], &FIRST_CACHE);
        shells.extend(self::busy(1));
        sleep_ms(500);
        let Seen { parts, busy } = see(&shells);
        assert!(have(&parts, least(2.0 / 3.0, BOUND)), "{parts:.3?}");
        assert!(busy >= BUSY, "{busy}");
        drop(shells);
        end();
    });
}

#[test]
fn a_limit_holds_in_both() {
    TWO_CACHES.run(|| {
        let group = Group::new("limited");
        group.set("cpu.max", "20000 100000");
        let limited = busy(3);
        limited.iter().for_each(|shell| group.take(shell));
        let count = limited.len();
        begin();
        let shells: Vec<_> = limited.into_iter().chain(busy(4)).collect();
        sleep_ms(1_000);
        let Seen { parts, busy } = see(&shells);
        // A fifth of one processor of four.
        let limited: f64 = parts[..count].iter().sum();
        assert!((0.03..=0.07).contains(&limited), "{parts:.3?}");
        let least = FAIR * 0.95 / 4.0;
        assert!(
            parts[count..].iter().all(|part| *part >= least),
            "{parts:.3?}"
        );
        assert!(busy >= BUSY, "{busy}");
        drop(shells);
        end();
    });
}

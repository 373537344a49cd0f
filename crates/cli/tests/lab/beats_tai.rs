//! Beats whose periods are counted from the zero of CLOCK_TAI, and what happens when it is set.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime, clock_settime};
use serde_json::Value;

use crate::{
    beats::end,
    daemon::Daemon,
    machine::{DEFAULT, NEWEST, WITHOUT_BPF_QDISCS},
    metronome::{MS, US, assert_stands, member, sleep_ms, spin},
    takt::{apply, takt},
};

const JOBS: u64 = 100;
/// No multiple of it is a second.
const PERIOD_NS: u64 = 7 * MS;
const OFFSET_NS: u64 = 3 * MS;
const LATE_MAX_NS: u64 = 50 * US;
/// Of a start before its beat, at a tick, and of two readings of different clocks.
const EARLY_MAX_NS: u64 = 5 * US;
const SET_BY: Duration = Duration::from_micros(2_345_678);

const POLICY: &str = r#"
[beats]
clock = "tai"

[[task]]
name = "seventh"
period = "7ms"
budget = "1ms"
offset = "3ms"
"#;

fn read_ns(clock: ClockId) -> u64 {
    Duration::from(clock_gettime(clock).unwrap()).as_nanos() as u64
}

/// At the periods of CLOCK_TAI, but for so many that the kernel may have kept waiting.
#[track_caller]
fn assert_in_phase(late_max: usize) {
    let starts_ns = member("seventh", JOBS, |_| spin(20 * US)).join().unwrap();
    let ahead_ns = read_ns(ClockId::CLOCK_TAI) - read_ns(ClockId::CLOCK_MONOTONIC);
    // A thread that begins may have come within its slot.
    let since_ns = starts_ns[2..].iter();
    let since_ns = since_ns.map(|start_ns| start_ns + ahead_ns + EARLY_MAX_NS - OFFSET_NS);
    let since_ns: Vec<u64> = since_ns.collect();
    let late_ns = since_ns.iter().map(|since_ns| since_ns % PERIOD_NS);
    let late_ns: Vec<u64> = late_ns
        .filter(|late_ns| *late_ns > LATE_MAX_NS + EARLY_MAX_NS)
        .collect();
    assert!(late_ns.len() <= late_max, "{late_ns:?}");
    let numbers: Vec<u64> = since_ns
        .iter()
        .map(|since_ns| since_ns / PERIOD_NS)
        .collect();
    let lost = numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1);
    assert_eq!(lost.count(), 0, "{numbers:?}");
}

fn beats() -> Value {
    takt("status --output json").json()["beats"].clone()
}

fn set_forward() {
    let utc = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME).unwrap());
    clock_settime(ClockId::CLOCK_REALTIME, (utc + SET_BY).into()).unwrap();
}

/// That its difference to CLOCK_MONOTONIC is that of the tables.
#[track_caller]
fn assert_followed() {
    let began = Instant::now();
    while beats()["clock_set_by_ns"] != 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "{}", beats());
        sleep_ms(50);
    }
    // All processors are in their next frame.
    sleep_ms(100);
}

fn on_atomic_time(late_max: usize) {
    apply(POLICY).ok();
    assert_in_phase(late_max);
    let before = beats();
    assert_eq!(
        (&before["clock"], &before["clock_set_by_ns"]),
        (&"tai".into(), &0.into())
    );
    assert_eq!(
        (&before["tai_offset_s"], &before["problem"]),
        (&0.into(), &Value::Null)
    );
    assert!(apply(POLICY).ok().contains("unchanged"));

    let tasks = takt("status --tasks").ok();
    assert!(
        tasks.contains("counted from the zero of CLOCK_TAI, which is UTC here"),
        "{tasks}"
    );

    // Without taktd they stay where they were, and status says so.
    set_forward();
    let by_ns = beats()["clock_set_by_ns"].as_u64().unwrap();
    assert!(
        by_ns.abs_diff(SET_BY.as_nanos() as u64) < 10 * MS,
        "{by_ns}"
    );
    let told = beats()["problem"].as_str().unwrap().to_owned();
    assert!(told.contains("CLOCK_TAI was set by 23"), "{told}");
    apply(POLICY).ok();
    assert_followed();
    assert_in_phase(late_max);

    // A running thread follows with all others.
    let daemon = Daemon::start();
    let generation = beats()["generation"].as_u64();
    set_forward();
    assert_followed();
    assert!(beats()["generation"].as_u64() > generation);
    assert_in_phase(late_max);
    drop(daemon);
    assert_stands();
    end();
}

#[test]
fn beats_follow_atomic_time() {
    DEFAULT.run(|| {
        on_atomic_time(0);
    });
}

#[test]
fn beats_follow_atomic_time_newest() {
    NEWEST.run(|| {
        on_atomic_time(0);
    });
}

#[test]
fn beats_follow_atomic_time_oldest() {
    WITHOUT_BPF_QDISCS.run(|| {
        // 6.16 keeps all interrupts waiting for 0.5 ms once in its first seconds.
        on_atomic_time(1);
    });
}

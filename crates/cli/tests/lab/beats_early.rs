//! Threads start when their slots open, from the alarms that are set early on.

use crate::{
    beats::{A, end},
    machine::{DEFAULT, NEWEST, WITHOUT_BPF_QDISCS},
    metronome::{MS, Shell, US, assert_stands, member, spin},
    takt::{apply, takt},
};

/// The jobs from which the times of idle and of busy processors are learned.
const LEARNED: usize = 40;
const JOBS: u64 = 160;
const PERIOD_NS: u64 = 10 * MS;
const BEAT_NS: i64 = MS as i64;
const EARLY_MAX_NS: i64 = 100;
const LATE_MAX_NS: i64 = 500;

/// How late jobs began, in order.
fn late_ns() -> Vec<i64> {
    let starts_ns = member("beat-a", JOBS, |_| spin(100 * US)).join().unwrap();
    let mut late_ns: Vec<i64> = starts_ns[LEARNED..]
        .iter()
        .map(|start_ns| (start_ns % PERIOD_NS) as i64 - BEAT_NS)
        .collect();
    late_ns.sort_unstable();
    late_ns
}

#[track_caller]
fn assert_in_time(late_ns: &[i64]) {
    println!("{late_ns:?}");
    assert!(late_ns[0] >= -EARLY_MAX_NS, "before its slot");
    // Others come from what was seldom interrupted before, or after an interrupt.
    assert!(late_ns[late_ns.len() / 2] <= LATE_MAX_NS);
}

fn in_time() {
    apply(A).ok();
    assert_in_time(&late_ns());
    let busy = Shell::busy("busy");
    assert_in_time(&late_ns());
    drop(busy);
    let early = takt("status --tasks --output json").json()["beats"]["cpus"][0]["early_ns"].clone();
    let thread = early["thread"].as_u64().unwrap();
    assert!((1_000..20_000).contains(&thread), "{early}");
    assert_stands();
    end();
}

#[test]
fn threads_start_when_their_slots_open() {
    DEFAULT.run(|| {
        in_time();
    });
}

#[test]
fn threads_start_when_their_slots_open_newest() {
    NEWEST.run(|| {
        in_time();
    });
}

#[test]
fn threads_start_when_their_slots_open_oldest() {
    WITHOUT_BPF_QDISCS.run(|| {
        in_time();
    });
}

//! Leads that calibrate themselves: threads start on the beat, under load and without.

use std::thread;

use serde_json::Value;
use takt_beats::Beat;

use crate::{
    beats::end,
    machine::{DEFAULT, NEWEST, WITHOUT_BPF_QDISCS},
    metronome::{MS, Shell, US, assert_stands, now_ns, spin, take_name},
    takt::{apply, takt},
};

const PERIOD_NS: u64 = 2 * MS;
const BEAT_NS: u64 = 500 * US;
/// Until a lead is known, and until it has forgotten what was before.
const LEARNED: usize = 1200;
const JOBS: usize = LEARNED + 400;
/// Of a reading of the clock.
const LATE_MAX_NS: u64 = US;
const LEAD_MAX_NS: u64 = 50 * US;

const POLICY: &str = r#"
[beats]
grid = "50us"

[[task]]
name = "strict"
period = "2ms"
budget = "200us"
offset = "500us"
lead = "auto"

[[task]]
name = "neighbour"
period = "2ms"
budget = "350us"
offset = "100us"
"#;

/// How late each start after the first ones was, in order; none was early.
fn late_ns() -> Vec<u64> {
    let strict = thread::spawn(|| {
        take_name("strict");
        let beat = Beat::own().unwrap();
        beat.done();
        let starts_ns = (0..JOBS).map(|_| {
            let start_ns = now_ns();
            spin(20 * US);
            beat.done();
            start_ns
        });
        starts_ns.collect::<Vec<u64>>()
    });
    let starts_ns = strict.join().unwrap();
    let mut late_ns: Vec<u64> = starts_ns[LEARNED..]
        .iter()
        .map(|start_ns| start_ns % PERIOD_NS)
        .map(|phase_ns| phase_ns.checked_sub(BEAT_NS).expect("not before its beat"))
        .collect();
    late_ns.sort_unstable();
    late_ns
}

#[track_caller]
fn assert_on_beat(late_ns: &[u64]) {
    println!("{:?}", &late_ns[late_ns.len() - 20..]);
    let on_beat = late_ns.iter().filter(|late_ns| **late_ns <= LATE_MAX_NS);
    assert!(on_beat.count() * 100 >= late_ns.len() * 99);
}

fn strict() -> Value {
    takt("status --output json").json()["tasks"][0].clone()
}

fn lead_ns() -> u64 {
    let task = strict();
    assert_eq!(task["lead_max_ns"], LEAD_MAX_NS);
    task["lead_ns"].as_u64().unwrap()
}

fn on_the_beat() {
    apply(POLICY).ok();
    assert_eq!(lead_ns(), LEAD_MAX_NS);
    assert_on_beat(&late_ns());
    let quiet_ns = lead_ns();
    assert!((US..LEAD_MAX_NS).contains(&quiet_ns), "{quiet_ns}");
    let shown = takt("status --tasks").ok();
    assert!(
        shown.contains(" before the beat, learned, at most 50us; "),
        "{shown}"
    );

    // System calls that delay starts, and a thread whose slot ends just before.
    let load = Shell::new("while :; do dd if=/dev/zero of=/dev/null bs=1M count=20; done");
    let neighbour = thread::spawn(|| {
        take_name("neighbour");
        for _ in 0..2 * JOBS {
            spin(500 * US);
            thread::yield_now();
        }
    });
    assert_on_beat(&late_ns());
    let loaded_ns = lead_ns();
    println!("a lead of {quiet_ns} ns, under load {loaded_ns} ns");
    drop(load);
    neighbour.join().unwrap();
    assert_on_beat(&late_ns());
    assert!(lead_ns() <= loaded_ns.max(quiet_ns + US));
    assert_stands();
    end();
}

#[test]
fn a_lead_calibrates_itself() {
    DEFAULT.run(|| {
        on_the_beat();
    });
}

#[test]
fn a_lead_calibrates_itself_newest() {
    NEWEST.run(|| {
        on_the_beat();
    });
}

#[test]
fn a_lead_calibrates_itself_oldest() {
    WITHOUT_BPF_QDISCS.run(|| {
        on_the_beat();
    });
}

//! Periods that are no whole number of nanoseconds: 64 frames at 44.1 kHz.

use std::fs;

use takt_algo::sys::takt_exact;

use crate::{
    beats::end,
    machine::{DEFAULT, NEWEST, WITHOUT_BPF_QDISCS},
    metronome::{MS, US, assert_stands, member, now_ns, sleep_ms, spin},
    takt::{apply, takt},
};

const JOBS: u64 = 2_000;
/// A tick may come just then: docs/beats.md#limits.
const EARLY_MAX_NS: u64 = US;
const LATE_MAX_NS: u64 = 50 * US;
/// What is left after so many is less than a hundredth.
const PAGE_LIST_EIGHTHS: u32 = 40;

/// One processor, so that both periods are in one table.
const POLICY: &str = r#"
[beats]
grid = "1/44100s"
cpus = "0"

[[task]]
name = "frames"
period = "64/44100s"
budget = "310us"
offset = "16/44100s"

[[task]]
name = "seventh"
period = "448/44100s"
budget = "200us"
"#;

/// Each began at its beat, one in every period.
#[track_caller]
fn assert_at_multiples(starts_ns: &[u64], period: &takt_exact, phase_ns: u64) {
    let starts = starts_ns[1..].iter().map(|start_ns| {
        let since_ns = start_ns + EARLY_MAX_NS - phase_ns;
        let number = period.count(since_ns);
        (number, since_ns - period.edge_ns(number))
    });
    let starts: Vec<(u64, u64)> = starts.collect();
    let late = |(_, late_ns): &&(u64, u64)| *late_ns > LATE_MAX_NS + EARLY_MAX_NS;
    let late: Vec<_> = starts.iter().filter(late).collect();
    let lost = |pair: &&[(u64, u64)]| pair[1].0 != pair[0].0 + 1;
    let lost: Vec<_> = starts.windows(2).filter(lost).collect();
    assert!(
        late.is_empty() && lost.is_empty(),
        "late: {late:?}, lost: {lost:?}"
    );
}

fn on_fractions() {
    apply(POLICY).ok();
    let sevenths = member("seventh", JOBS / 7, |_| spin(20 * US));
    let starts_ns = member("frames", JOBS, |_| spin(50 * US)).join().unwrap();
    let frames = takt_exact::new(640_000_000, 441);
    assert_at_multiples(&starts_ns, &frames, 160_000_000 / 441);
    sevenths.join().unwrap();
    let status = takt("status --tasks --output json").json();
    let beats = &status["beats"];
    assert_eq!(beats["grid"], "1/44100s");
    assert_eq!(beats["cpus"][0]["frame_ns"], 10_158_730);
    let task = &status["tasks"][0];
    assert_eq!(task["period"], "16/11025s");
    assert_eq!(task["period_ns"], 1_451_247);
    assert_eq!((&task["missed"], &task["overruns"]), (&0.into(), &0.into()));
    // RCU's thread is a realtime one on old kernels; kworkers took up to 350 us.
    let stolen_ns = task["stolen_higher_ns"].as_u64().unwrap();
    assert!(stolen_ns <= LATE_MAX_NS, "{stolen_ns}");
    assert_stands();
    end();
}

/// A ninth of a millisecond, of which a million pass in two minutes.
const NINTH: &str = r#"
[beats]
grid = "1/90000s"

[[task]]
name = "ninth"
period = "1/9000s"
budget = "20us"
"#;

#[test]
fn the_millionth_period_is_where_it_was() {
    DEFAULT.run(|| {
        let ninth = takt_exact::new(1_000_000, 9);
        sleep_ms((ninth.edge_ns(1_000_000).saturating_sub(now_ns())) / MS);
        apply(NINTH).ok();
        let starts_ns = member("ninth", JOBS, |_| {}).join().unwrap();
        let piece = &takt("status --tasks --output json").json()["tasks"][0]["pieces"][0];
        let phase_ns = piece["beat_ns"].as_u64().unwrap();
        let late_ns = |start_ns: &u64| {
            let since_ns = start_ns + EARLY_MAX_NS - phase_ns;
            let number = ninth.count(since_ns);
            assert!(number > 1_000_000, "{number}");
            since_ns - ninth.edge_ns(number)
        };
        let mut late_ns: Vec<u64> = starts_ns.iter().map(late_ns).collect();
        late_ns.sort_unstable();
        println!("{late_ns:?}");
        let median_ns = late_ns[late_ns.len() / 2].abs_diff(EARLY_MAX_NS);
        assert!(median_ns < US, "{median_ns}");
        assert_stands();
        end();
    });
}

#[test]
fn jobs_begin_at_multiples_of_a_fraction() {
    DEFAULT.run(|| {
        on_fractions();
    });
}

#[test]
fn jobs_begin_at_multiples_of_a_fraction_newest() {
    NEWEST.run(|| {
        on_fractions();
    });
}

#[test]
fn jobs_begin_at_multiples_of_a_fraction_oldest() {
    WITHOUT_BPF_QDISCS.run(|| {
        // 6.16 gives back a processor's free pages with interrupts off, for up to 0.5 ms each
        // second after much memory was freed. Each write takes an eighth of them.
        for _ in 0..PAGE_LIST_EIGHTHS {
            fs::write("/proc/sys/vm/stat_refresh", "1").unwrap();
        }
        on_fractions();
    });
}

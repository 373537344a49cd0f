//! The timer and gap frames together: few frames, and spacing that a late timer does not disturb.

use takt_algo::{
    Left,
    sys::{TAKT_GAP_EARLY_NS, TAKT_GAP_LEAD_NS, TAKT_PACING_TIMER_GAP},
};

use super::wire::{LINK_BPS, OVERHEAD, Wire, plan_of};

/// As long as one byte takes.
const BYTE_NS: u64 = 8_000_000_000 / LINK_BPS;
/// Half of the shortest frame early here, half late there.
const ERROR_MAX_NS: u64 = 84 * BYTE_NS;
const FRAMES: usize = 5_000;

fn run(percent: u64, late_ns: u64) -> (Wire, u64) {
    let rate_bps = LINK_BPS / 100 * percent;
    let mut wire = Wire::new(plan_of(TAKT_PACING_TIMER_GAP, &[rate_bps]), 1_000_000_000);
    wire.feed(48);
    wire.saturate(1, 1514, FRAMES, late_ns);
    assert_eq!(wire.link.gap().fallbacks, 0);
    let spacing_ns = u64::from(1514 + OVERHEAD) * 8_000_000_000 / rate_bps;
    (wire, spacing_ns)
}

#[test]
fn spacing_is_exact_though_the_timer_is_late() {
    for percent in [1, 10, 50, 90, 99] {
        for late_ns in [0, 20_000, u64::from(TAKT_GAP_LEAD_NS)] {
            let (wire, spacing_ns) = run(percent, late_ns);
            let intervals_ns = wire.intervals_ns(1);
            let worst = intervals_ns.iter().map(|ns| ns.abs_diff(spacing_ns)).max();
            let worst = worst.expect("there are frames");
            assert!(worst <= ERROR_MAX_NS, "{percent} %, {late_ns}: {worst} ns");
            let mean = intervals_ns.iter().sum::<u64>() as f64 / intervals_ns.len() as f64;
            let ppm = (mean / spacing_ns as f64 - 1.0) * 1e6;
            let most_ppm = 2e6 * ERROR_MAX_NS as f64 / (FRAMES as u64 * spacing_ns) as f64;
            assert!(
                ppm.abs() < 3.0 + most_ppm,
                "{percent} %, {late_ns}: {ppm} ppm"
            );
        }
    }
}

/// One frame, or two where the exact length is not in stock: whatever the rate is.
#[test]
fn only_the_last_microseconds_are_filled() {
    for percent in [1, 10, 40] {
        let (wire, _) = run(percent, 20_000);
        let frames = wire.link.gap().frames as f64 / FRAMES as f64;
        assert!(frames < 2.1, "{percent} %: {frames} for a packet");
        let bytes = wire.link.gap().bytes as f64 / FRAMES as f64;
        let most_ns = 20_000 + 2 * TAKT_GAP_EARLY_NS + 1_000;
        let most = 84.0 + f64::from(most_ns) / BYTE_NS as f64;
        assert!(bytes <= most, "{percent} %: {bytes} bytes for a packet");
    }
}

/// How late the timer was is forgotten slowly, and learned at once.
#[test]
fn a_timer_that_was_late_is_set_earlier() {
    let (mut wire, _) = run(10, 0);
    assert!(
        wire.link.gap().late_ns < 2_000,
        "{}",
        wire.link.gap().late_ns
    );
    wire.saturate(1, 1514, FRAMES + 20, 30_000);
    assert!((25_000..=30_000).contains(&wire.link.gap().late_ns));
}

/// A processor that cannot fill the wire costs the class nothing: the timer paces for a while.
#[test]
fn a_processor_that_falls_behind_ends_gaps_for_a_second() {
    let mut wire = Wire::new(super::wire::plan(&[LINK_BPS / 10]), 0);
    wire.feed(48);
    wire.saturate(1, 1514, 50, 0);
    assert_eq!(wire.link.gap().behind, 0);
    wire.now_ns += 30_000_000;
    wire.dequeue();
    assert_eq!((wire.link.gap().behind, wire.link.gap().fallbacks), (1, 1));
    assert_eq!(wire.link.gap().flowing, 0);
    let frames = wire.link.gap().frames;
    let from_ns = wire.now_ns;
    go_on(&mut wire, from_ns + 900_000_000);
    assert_eq!(wire.link.gap().frames, frames);
    go_on(&mut wire, from_ns + 1_100_000_000);
    assert!(wire.link.gap().frames > frames);
    assert_eq!(wire.link.gap().behind, 1);
}

/// Until then, with a timer that is on time.
fn go_on(wire: &mut Wire, until_ns: u64) {
    while wire.now_ns < until_ns {
        wire.feed(48);
        match wire.dequeue() {
            Left::Packet { class, .. } => wire.enqueue(class, 1514),
            Left::Gap { .. } => {}
            Left::Wait { until_ns } => wire.now_ns = wire.now_ns.max(until_ns),
            Left::Empty => panic!("there are packets"),
        }
    }
}

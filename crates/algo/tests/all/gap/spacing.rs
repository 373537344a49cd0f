//! The bars of gap mode: spacing exact to a few bytes, the mean rate exact.

use proptest::prelude::*;
use takt_algo::Left;

use super::wire::{LINK_BPS, LONGEST, OVERHEAD, Wire, plan};

/// Half of the shortest frame early here, half late there.
const ERROR_MAX_BYTES: f64 = 42.0 + 0.5;

/// The largest error of a class's spacings and of their mean, in millionths.
fn errors(wire: &Wire, class: u32, bytes: u32, rate_bps: u64) -> (f64, f64) {
    let spacings = wire.spacings(class);
    let exact = f64::from(bytes + OVERHEAD) * LINK_BPS as f64 / rate_bps as f64;
    let worst = spacings
        .iter()
        .map(|spacing| (*spacing as f64 - exact).abs())
        .fold(0.0, f64::max);
    let mean = spacings.iter().sum::<u64>() as f64 / spacings.len() as f64;
    (worst, (mean / exact - 1.0) * 1e6)
}

#[test]
fn one_class_at_every_load() {
    for percent in [1, 5, 10, 33, 50, 66, 90, 93, 95, 97, 99] {
        for late_ns in [0, 20_000, 3_000_000] {
            let rate_bps = LINK_BPS / 100 * percent;
            let mut wire = Wire::new(plan(&[rate_bps]), 1_000_000_000);
            wire.feed(48);
            wire.saturate(1, 1514, 20_000, late_ns);
            assert_eq!(wire.link.gap().fallbacks, 0);
            let (worst, mean_ppm) = errors(&wire, 1, 1514, rate_bps);
            // Two moments make a spacing.
            assert!(worst <= 2.0 * ERROR_MAX_BYTES, "{percent} %: {worst} bytes");
            if percent <= 90 {
                assert!(worst <= 1.0, "{percent} %: {worst} bytes");
            }
            assert!(mean_ppm.abs() < 3.0, "{percent} %: {mean_ppm} ppm");
        }
    }
}

#[test]
fn two_classes_stand_in_each_others_way_for_one_frame() {
    let rates_bps = [LINK_BPS / 10, LINK_BPS / 3];
    let mut wire = Wire::new(plan(&rates_bps), 0);
    wire.feed(48);
    wire.saturate(2, 1514, 50_000, 20_000);
    for (class, rate_bps) in (1..).zip(rates_bps) {
        let (worst, mean_ppm) = errors(&wire, class, 1514, rate_bps);
        assert!(worst <= 64.0 + 1538.0, "class {class}: {worst} bytes");
        let whole = wire.position_bytes as f64;
        let slack_ppm = 1e6 * (64.0 + 1538.0) / whole;
        assert!(mean_ppm.abs() < slack_ppm, "class {class}: {mean_ppm} ppm");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_class_keeps_its_spacing(
        rate_bps in 500_000..99_000_000u64, bytes in 60..1515u32, late_ns in 0..100_000u64,
    ) {
        let mut wire = Wire::new(plan(&[rate_bps]), 77);
        wire.feed(48);
        wire.saturate(1, bytes, 3000, late_ns);
        prop_assert_eq!(wire.link.gap().fallbacks, 0);
        let (worst, mean_ppm) = errors(&wire, 1, bytes, rate_bps);
        prop_assert!(worst <= 2.0 * ERROR_MAX_BYTES, "{} bytes", worst);
        let exact = f64::from(bytes + OVERHEAD) * LINK_BPS as f64 / rate_bps as f64;
        if exact >= f64::from(bytes + OVERHEAD) + 84.0 {
            prop_assert!(worst <= 1.5, "{} bytes", worst);
        }
        prop_assert!(mean_ppm.abs() < 1e6 * 2.0 * ERROR_MAX_BYTES / (3000.0 * exact) + 1.0);
    }
}

/// The device never holds more than two of the longest frames and what a late timer adds.
#[test]
fn the_wire_does_not_run_ahead() {
    for percent in [10, 50, 99] {
        let mut wire = Wire::new(plan(&[LINK_BPS / 100 * percent]), 5);
        wire.feed(48);
        wire.saturate(1, 1514, 5_000, 0);
        let frame_ns = u64::from(LONGEST + OVERHEAD) * 8_000_000_000 / LINK_BPS;
        assert!(
            wire.ahead_max_ns <= 3 * frame_ns + 51_000,
            "{}",
            wire.ahead_max_ns
        );
    }
}

/// Nothing is queued: no gaps; and the next packet starts at the current time.
#[test]
fn an_idle_link_is_silent() {
    let mut wire = Wire::new(plan(&[10_000_000]), 0);
    wire.feed(48);
    wire.saturate(1, 1514, 10, 0);
    loop {
        match wire.dequeue() {
            Left::Empty => break,
            Left::Wait { until_ns } => wire.now_ns = until_ns,
            Left::Packet { .. } | Left::Gap { .. } => {}
        }
    }
    let gaps = wire.link.gap().frames;
    wire.now_ns += 5_000_000_000;
    assert_eq!(wire.dequeue(), Left::Empty);
    wire.enqueue(1, 1000);
    assert!(matches!(wire.dequeue(), Left::Packet { .. }));
    assert_eq!(wire.link.gap().frames, gaps);
    assert!(wire.link.link().free_ns() >= wire.now_ns);
}

/// Packets that each find empty queues do not run ahead of the time either.
#[test]
fn a_volley_waits_for_the_wire() {
    let mut wire = Wire::new(plan(&[LINK_BPS]), 0);
    wire.feed(48);
    wire.saturate(1, 100, 5, 0);
    for _ in 0..1000 {
        wire.enqueue(1, 1000);
        while !matches!(wire.dequeue(), Left::Wait { .. } | Left::Empty) {}
    }
    let frame_ns = u64::from(LONGEST + OVERHEAD) * 8_000_000_000 / LINK_BPS;
    assert!(wire.link.link().free_ns() <= wire.now_ns + 3 * frame_ns + 51_000);
}

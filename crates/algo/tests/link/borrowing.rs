//! Spare capacity is lent up to a ceiling, by weight, and taken back at once.

use proptest::prelude::*;
use takt_algo::sys::takt_class_params;

use super::{
    plan::{self, MBIT},
    traffic::{NS_PER_MS, NS_PER_S, Traffic, frame, near},
};

const LINK_BPS: u64 = 100 * MBIT;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn alone_it_reaches_its_ceiling_exactly(
        rate_bps in MBIT..50 * MBIT, ceil_bps in 50 * MBIT..100 * MBIT, late_ns in 0..500_000u64,
    ) {
        let plan = plan::of(LINK_BPS, &[plan::borrower(rate_bps, ceil_bps)]);
        let mut traffic = Traffic::new(frame).late(late_ns);
        traffic.busy(&plan, [1]);
        traffic.run(&plan, 2 * NS_PER_S);
        let rate = traffic.rate_bps(1, NS_PER_S, traffic.now_ns);
        prop_assert!(near(rate, ceil_bps as f64, 0.002), "{rate} for {ceil_bps}");
    }

    /// Guarantees that fill the link exactly.
    #[test]
    fn together_they_get_what_is_guaranteed(parts in prop::collection::vec(5..100u64, 2..20)) {
        let sum: u64 = parts.iter().sum();
        let classes: Vec<_> = parts
            .iter()
            .map(|part| plan::borrower(LINK_BPS * part / sum, 0))
            .collect();
        let plan = plan::of(LINK_BPS, &classes);
        let mut traffic = Traffic::new(frame);
        traffic.busy(&plan, 1..=classes.len() as u32);
        traffic.run(&plan, NS_PER_S);
        let start_ns = traffic.now_ns;
        traffic.run(&plan, 4 * NS_PER_S);
        for (id, class) in (1..).zip(&classes) {
            let rate = traffic.rate_bps(id, start_ns, traffic.now_ns);
            // A frame more or less is 3 kbit/s.
            let slack = class.rate_bps as f64 * 0.005 + 6e3;
            prop_assert!((rate - class.rate_bps as f64).abs() <= slack, "{rate} for {}", class.rate_bps);
        }
    }

    /// Each gets a part of the link's spare capacity by its weight.
    #[test]
    fn what_is_spare_goes_by_weight(weights in prop::collection::vec(1..50u64, 2..10)) {
        let classes: Vec<_> = weights
            .iter()
            .map(|weight| takt_class_params {
                weight_bps: weight * MBIT,
                ..plan::borrower(2 * MBIT, 0)
            })
            .collect();
        let plan = plan::of(LINK_BPS, &classes);
        let mut traffic = Traffic::new(frame);
        traffic.busy(&plan, 1..=classes.len() as u32);
        traffic.run(&plan, NS_PER_S);
        let start_ns = traffic.now_ns;
        traffic.run(&plan, 4 * NS_PER_S);
        let sum: u64 = weights.iter().sum();
        let spare = (LINK_BPS - classes.len() as u64 * 2 * MBIT) as f64;
        for (id, weight) in (1..).zip(&weights) {
            let want = 2e6 + spare * *weight as f64 / sum as f64;
            let rate = traffic.rate_bps(id, start_ns, traffic.now_ns);
            prop_assert!(near(rate, want, 0.01), "{id} of {weights:?}: {rate} for {want}");
        }
    }

    /// However other classes come and go: never more than its ceiling, except what a timer
    /// (lag_max) and other classes' frames (`takt_wait_bound`) made it late, and a packet.
    #[test]
    fn no_class_exceeds_its_ceiling(
        ceils_bps in prop::collection::vec(10 * MBIT..80 * MBIT, 2..8),
        turns in prop::collection::vec((any::<u8>(), 1..200u64), 1..20),
    ) {
        let classes: Vec<_> = ceils_bps
            .iter()
            .map(|ceil_bps| plan::borrower(ceil_bps / 3, *ceil_bps))
            .collect();
        let plan = plan::of(LINK_BPS, &classes);
        let mut traffic = Traffic::new(frame);
        for (active, ms) in turns {
            traffic.busy(&plan, (1..=classes.len() as u32).filter(|id| active >> id & 1 == 1));
            traffic.run(&plan, ms * NS_PER_MS);
        }
        // One frame of each, and a third of what counts as a crowd, four for each.
        let frames = (1 + 4 * classes.len() / 3) as f64;
        let late_s = 0.010 + frames * 1500.0 * 8.0 / LINK_BPS as f64;
        for (id, ceil_bps) in (1..).zip(&ceils_bps) {
            let late = *ceil_bps as f64 * late_s / 8.0;
            let excess = traffic.excess_bytes(&[id], *ceil_bps, 0);
            prop_assert!(excess <= late + 2.0 * 1500.0, "{id}: {excess} bytes too many");
        }
    }

    /// A class with a guarantee waits for one frame of each other class at most.
    #[test]
    fn a_guarantee_is_taken_back_within_a_frame_per_class(borrowers in 1..20u32, ms in 1..50u64) {
        let mut classes = vec![plan::best_effort(MBIT, 3); borrowers as usize];
        classes.push(plan::borrower(50 * MBIT, 0));
        let id = borrowers + 1;
        let plan = plan::of(LINK_BPS, &classes);
        let mut traffic = Traffic::new(frame);
        traffic.busy(&plan, 1..=borrowers);
        traffic.run(&plan, ms * NS_PER_MS);
        let start_ns = traffic.now_ns;
        traffic.busy(&plan, 1..=id);
        traffic.run(&plan, 500 * NS_PER_MS);
        let short = traffic.shortage_bytes(id, 50 * MBIT, start_ns, traffic.now_ns);
        prop_assert!(short <= 1500.0 * 3.0, "{short} bytes too few");
    }
}

/// A ceiling for classes without a guarantee.
#[test]
fn best_effort_with_a_ceiling() {
    let capped = takt_class_params {
        ceil_bps: 10 * MBIT,
        ..plan::best_effort(MBIT, 6)
    };
    let plan = plan::of(LINK_BPS, &[capped, plan::best_effort(MBIT, 6)]);
    let mut traffic = Traffic::new(frame);
    traffic.busy(&plan, [1, 2]);
    traffic.run(&plan, 2 * NS_PER_S);
    let end_ns = traffic.now_ns;
    assert!(near(traffic.rate_bps(1, NS_PER_S, end_ns), 10e6, 0.01));
    assert!(near(traffic.rate_bps(2, NS_PER_S, end_ns), 90e6, 0.01));
}

/// Hundreds of classes whose every frame is beyond the calendar's horizon in virtual time are
/// inserted again and again, and none is forgotten.
#[test]
fn light_weights_share_too() {
    let plan = plan::of(LINK_BPS, &[plan::best_effort(1000, 6); 500]);
    let mut traffic = Traffic::new(frame);
    traffic.busy(&plan, 1..=500);
    traffic.run(&plan, 5 * NS_PER_S);
    let end_ns = traffic.now_ns;
    let all: f64 = (1..=500)
        .map(|id| traffic.rate_bps(id, NS_PER_S, end_ns))
        .sum();
    assert!(near(all, 100e6, 0.001), "{all}");
    for id in 1..=500 {
        let rate = traffic.rate_bps(id, NS_PER_S, end_ns);
        assert!(near(rate, 200e3, 0.05), "{id}: {rate}");
    }
}

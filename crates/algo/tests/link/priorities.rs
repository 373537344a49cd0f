//! The best priority first, and floors before all.

use proptest::prelude::*;
use takt_algo::sys::takt_class_params;

use super::{
    plan::{self, MBIT},
    traffic::{NS_PER_S, Traffic, frame, near},
};

const LINK_BPS: u64 = 100 * MBIT;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Each priority gets its guarantee as far as better ones leave it.
    #[test]
    fn a_lower_priority_gets_what_is_left(rates in prop::collection::vec(5..60u64, 2..8)) {
        let classes: Vec<_> = (0..)
            .zip(&rates)
            .map(|(priority, mbit)| plan::class(mbit * MBIT, priority))
            .collect();
        let plan = plan::of(LINK_BPS, &classes);
        let mut traffic = Traffic::new(frame);
        traffic.busy(&plan, 1..=classes.len() as u32);
        traffic.run(&plan, 4 * NS_PER_S);
        let mut left = 100;
        for (id, mbit) in (1..).zip(&rates) {
            let want = (*mbit).min(left);
            left -= want;
            let rate = traffic.rate_bps(id, 2 * NS_PER_S, traffic.now_ns);
            prop_assert!((rate - want as f64 * 1e6).abs() <= want as f64 * 5e3 + 1e5,
                "{id} of {rates:?}: {rate} for {want}");
        }
    }

    /// Guarantees of all priorities that fit the link are all met.
    #[test]
    fn guarantees_that_fit_are_met_in_every_priority(
        parts in prop::collection::vec((1..50u64, 0..8u8), 2..12),
    ) {
        let sum: u64 = parts.iter().map(|part| part.0).sum();
        let classes: Vec<_> = parts
            .iter()
            .map(|(part, priority)| plan::class(85 * MBIT * part / sum, *priority))
            .collect();
        let plan = plan::of(LINK_BPS, &classes);
        let mut traffic = Traffic::new(frame);
        traffic.busy(&plan, 1..=classes.len() as u32);
        traffic.run(&plan, NS_PER_S);
        let start_ns = traffic.now_ns;
        traffic.run(&plan, 4 * NS_PER_S);
        for (id, class) in (1..).zip(&classes) {
            let rate = traffic.rate_bps(id, start_ns, traffic.now_ns);
            let slack = class.rate_bps as f64 * 0.005 + 6e3;
            prop_assert!((rate - class.rate_bps as f64).abs() <= slack,
                "{id} of {parts:?}: {rate} for {}", class.rate_bps);
        }
    }

    /// Under a priority that takes all, exactly the floors are left.
    #[test]
    fn floors_are_served_whatever_goes_before(floors in prop::collection::vec(1..8u64, 1..10)) {
        let mut classes = vec![plan::best_effort(MBIT, 0)];
        classes.extend(floors.iter().map(|floor| takt_class_params {
            floor_bps: floor * MBIT,
            ..plan::best_effort(MBIT, 7)
        }));
        let plan = plan::of(LINK_BPS, &classes);
        let mut traffic = Traffic::new(frame);
        traffic.busy(&plan, 1..=classes.len() as u32);
        traffic.run(&plan, 3 * NS_PER_S);
        for (id, floor) in (2..).zip(&floors) {
            let rate = traffic.rate_bps(id, NS_PER_S, traffic.now_ns);
            prop_assert!(near(rate, *floor as f64 * 1e6, 0.01), "{id}: {rate} for {floor}");
        }
    }
}

/// After a long starvation, a priority's classes do not make each other wait.
#[test]
fn no_class_pays_for_a_priority_that_starved() {
    let plan = plan::of(
        LINK_BPS,
        &[
            plan::best_effort(MBIT, 0),
            plan::class(10 * MBIT, 5),
            plan::class(10 * MBIT, 5),
        ],
    );
    let mut traffic = Traffic::new(frame);
    traffic.busy(&plan, [1, 2]);
    traffic.run(&plan, 10 * NS_PER_S);
    traffic.busy(&plan, [2, 3]);
    let start_ns = traffic.now_ns;
    traffic.run(&plan, NS_PER_S);
    for id in [2, 3] {
        let short = traffic.shortage_bytes(id, 10 * MBIT, start_ns, traffic.now_ns);
        assert!(short < 5000.0, "{id}: {short} bytes too few");
        let excess = traffic.excess_bytes(&[id], 10 * MBIT, start_ns);
        assert!(excess < 6000.0, "{id}: {excess} bytes too many");
    }
}

//! Links within the link.

use proptest::prelude::*;
use takt_algo::sys::{takt_class_params, takt_plan};

use super::{
    plan::{self, MBIT},
    traffic::{NS_PER_MS, NS_PER_S, Traffic, frame},
};

const LINK_BPS: u64 = 100 * MBIT;

/// Classes 1, 2 and 3, 4 of tenants 11 and 12.
fn pair(one: takt_class_params, other: takt_class_params) -> Box<takt_plan> {
    let mut plan = plan::of(LINK_BPS, &[plan::best_effort(MBIT, 6); 4]);
    plan::tenant(&mut plan, 11, 1, one, &[1, 2]);
    plan::tenant(&mut plan, 12, 2, other, &[3, 4]);
    plan
}

fn assert_near(traffic: &Traffic, classes: &[u32], from_ns: u64, want_bps: u64) {
    let rate: f64 = classes
        .iter()
        .map(|id| traffic.rate_bps(*id, from_ns, traffic.now_ns))
        .sum();
    assert!(
        (rate / want_bps as f64 - 1.0).abs() < 0.005,
        "{classes:?}: {rate} for {want_bps}"
    );
}

/// Runs for a second after a settling tenth; returns the second's begin.
fn settle(traffic: &mut Traffic, plan: &takt_plan, busy: &[u32]) -> u64 {
    traffic.busy(plan, busy.iter().copied());
    traffic.run(plan, 100 * NS_PER_MS);
    let start_ns = traffic.now_ns;
    traffic.run(plan, NS_PER_S);
    start_ns
}

#[test]
fn a_tenant_has_its_guarantee_ceiling_and_weight() {
    let plan = pair(
        plan::borrower(60 * MBIT, 80 * MBIT),
        plan::borrower(40 * MBIT, 0),
    );
    let mut traffic = Traffic::new(frame);
    let start_ns = settle(&mut traffic, &plan, &[1, 2]);
    assert_near(&traffic, &[1, 2], start_ns, 80 * MBIT);
    assert_near(&traffic, &[1], start_ns, 40 * MBIT);
    let start_ns = settle(&mut traffic, &plan, &[1, 2, 3, 4]);
    assert_near(&traffic, &[1, 2], start_ns, 60 * MBIT);
    assert_near(&traffic, &[3, 4], start_ns, 40 * MBIT);
    let start_ns = settle(&mut traffic, &plan, &[1, 3, 4]);
    assert_near(&traffic, &[1], start_ns, 60 * MBIT);
    let start_ns = settle(&mut traffic, &plan, &[4]);
    assert_near(&traffic, &[4], start_ns, 100 * MBIT);
}

#[test]
fn spare_capacity_goes_by_the_tenants_weights() {
    let light = plan::best_effort(MBIT, 3);
    let heavy = plan::best_effort(3 * MBIT, 3);
    let plan = pair(light, heavy);
    let mut traffic = Traffic::new(frame);
    let start_ns = settle(&mut traffic, &plan, &[1, 2, 3]);
    assert_near(&traffic, &[1, 2], start_ns, 25 * MBIT);
    assert_near(&traffic, &[3], start_ns, 75 * MBIT);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Guarantees within a tenant's own are met, also on a much faster link.
    #[test]
    fn guarantees_that_fit_the_tenant_are_met(
        parts in prop::collection::vec(1..50u64, 1..12), others in 0..2u64,
    ) {
        let sum: u64 = parts.iter().sum();
        let mut classes: Vec<_> = parts
            .iter()
            .map(|part| plan::borrower(9_500_000 * part / sum, 0))
            .collect();
        let count = classes.len() as u32;
        classes.push(plan::best_effort(100 * MBIT, 3));
        let mut plan = plan::of(1000 * MBIT, &classes);
        let inside: Vec<u32> = (1..=count).collect();
        plan::tenant(&mut plan, 100, 1, plan::class(10 * MBIT, 3), &inside);
        let mut traffic = Traffic::new(frame);
        traffic.busy(&plan, 1..=count + others as u32);
        traffic.run(&plan, NS_PER_S);
        let start_ns = traffic.now_ns;
        traffic.run(&plan, 10 * NS_PER_S);
        let end_ns = traffic.now_ns;
        for (id, class) in (1..=count).zip(&classes) {
            let rate = traffic.rate_bps(id, start_ns, end_ns);
            prop_assert!(rate >= class.rate_bps as f64 * 0.995 - 3e3,
                "{id} of {parts:?}: {rate} for {}", class.rate_bps);
        }
        let excess = traffic.excess_bytes(&inside, 10 * MBIT, start_ns);
        prop_assert!(excess <= 12_500.0 + 3000.0, "{excess} bytes beyond the tenant's ceiling");
    }
}

/// The tenant leaves and another gets its node, while classes hold packets: the new tenant's
/// ceiling holds, and the old tenant's has no effect.
#[test]
fn a_node_is_given_to_another_tenant_under_load() {
    let mut plan = pair(plan::borrower(60 * MBIT, 0), plan::borrower(40 * MBIT, 0));
    let mut traffic = Traffic::new(frame);
    settle(&mut traffic, &plan, &[1, 2, 3]);
    plan.generation += 1;
    plan.class_params[11] = plan::leaving();
    plan::tenant(&mut plan, 13, 1, plan::class(20 * MBIT, 3), &[1, 2]);
    let start_ns = settle(&mut traffic, &plan, &[1, 2, 3]);
    assert_near(&traffic, &[1, 2], start_ns, 20 * MBIT);
    assert_near(&traffic, &[3], start_ns, 80 * MBIT);
}

/// Classes move between tenants, and leave both.
#[test]
fn classes_move_between_tenants_under_load() {
    let rates = [plan::class(30 * MBIT, 3), plan::class(20 * MBIT, 3)];
    let mut plan = pair(rates[0], rates[1]);
    let mut traffic = Traffic::new(frame);
    let all = [1, 2, 3, 4];
    for (nodes, wants) in [
        ([1, 1, 2, 2], [15, 15, 10, 10]),
        ([2, 2, 1, 1], [10, 10, 15, 15]),
        ([1, 2, 2, 2], [30, 7, 7, 7]),
        ([0, 1, 2, 2], [50, 30, 10, 10]),
    ] {
        plan.generation += 1;
        for (class, node) in plan.class_params[1..5].iter_mut().zip(nodes) {
            class.node = node;
        }
        let start_ns = settle(&mut traffic, &plan, &all);
        for (id, want) in (1..).zip(wants) {
            let rate = traffic.rate_bps(id, start_ns, traffic.now_ns);
            assert!(
                (rate / 1e6 - want as f64).abs() < 1.0,
                "{id} by {nodes:?}: {rate}"
            );
        }
    }
}

/// A class whose tenant left does not wait for a priority without a turn.
#[test]
fn a_guarantee_holds_at_once_after_its_tenant_left() {
    let mut plan = pair(plan::borrower(60 * MBIT, 0), plan::borrower(40 * MBIT, 0));
    plan.class_params[3].priority = 3;
    let mut traffic = Traffic::new(frame);
    settle(&mut traffic, &plan, &[1, 3]);
    plan.generation += 1;
    plan.tenant[1] = 0;
    plan.class_params[11] = plan::leaving();
    plan.class_params[1] = plan::borrower(50 * MBIT, 0);
    plan.class_params[2] = plan::leaving();
    let start_ns = settle(&mut traffic, &plan, &[1, 3]);
    let rate = traffic.rate_bps(1, start_ns, traffic.now_ns);
    assert!(rate >= 49e6, "{rate}");
}

/// A tenant waits for its class's pace while the guarantees of its priority exceed the link, so
/// that their clock is put back. The tenant's time to go is not.
#[test]
fn a_tenant_that_waits_goes_at_its_time_after_an_overcommitted_guarantee() {
    let mut plan = plan::of(
        10 * MBIT,
        &[plan::class(MBIT / 10, 3), plan::borrower(20 * MBIT, 0)],
    );
    plan::tenant(&mut plan, 11, 1, plan::borrower(MBIT, 0), &[1]);
    let mut traffic = Traffic::new(frame);
    traffic.busy(&plan, [2]);
    traffic.send(&plan, 1);
    traffic.send(&plan, 1);
    traffic.run(&plan, 60 * NS_PER_MS);
    traffic.busy(&plan, []);
    traffic.run(&plan, NS_PER_S);
    let sent: Vec<u64> = traffic
        .sent
        .iter()
        .filter(|sent| sent.class == 1)
        .map(|sent| sent.at_ns)
        .collect();
    // 1,500 bytes at 100 kbit/s.
    let waited_ns = sent[1] - sent[0];
    assert!(waited_ns <= 121 * NS_PER_MS, "{waited_ns}");
}

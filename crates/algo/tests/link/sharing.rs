//! Guarantees that ask for more than there is: all costs scale at once.

use proptest::prelude::*;

use super::{
    plan::{self, MBIT},
    traffic::{NS_PER_MS, NS_PER_S, Traffic},
};

const LINK_BPS: u64 = 100 * MBIT;

fn frame(_: u32) -> u32 {
    1500
}

/// Of different lengths.
fn frames(id: u32) -> u32 {
    200 + id * 397 % 1300
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// In proportion to the rates, over any window, to a few frames.
    #[test]
    fn shares_follow_rates(rates_bps in prop::collection::vec(5 * MBIT..100 * MBIT, 2..12)) {
        let sum_bps: u64 = rates_bps.iter().sum();
        prop_assume!(sum_bps > LINK_BPS);
        let plan = plan::equals(LINK_BPS, &rates_bps);
        let count = rates_bps.len() as u32;
        let mut traffic = Traffic::new(frames);
        traffic.busy(&plan, 1..=count);
        let start_ns = traffic.now_ns + 100 * NS_PER_MS;
        traffic.run(&plan, NS_PER_S);
        let end_ns = traffic.now_ns;
        for (id, rate_bps) in (1..).zip(&rates_bps) {
            let share_bps = (u128::from(LINK_BPS) * u128::from(*rate_bps) / u128::from(sum_bps)) as u64;
            // Its own frame, and the share of all other frames.
            let slack = f64::from(frames(id)) * 2.0
                + f64::from(count) * 1500.0 * *rate_bps as f64 / sum_bps as f64;
            let excess = traffic.excess_bytes(&[id], share_bps, start_ns);
            prop_assert!(excess <= slack, "{id} of {rates_bps:?}: {excess} bytes too many");
            let short = traffic.shortage_bytes(id, share_bps, start_ns, end_ns);
            prop_assert!(short <= slack, "{id} of {rates_bps:?}: {short} bytes too few");
        }
    }

    /// When other classes stop, none has anything to catch up for longer than 10 ms.
    #[test]
    fn no_class_bursts_when_others_stop(
        rates_bps in prop::collection::vec(10 * MBIT..100 * MBIT, 2..12),
        stay in 1..12usize,
    ) {
        let plan = plan::equals(LINK_BPS, &rates_bps);
        let mut traffic = Traffic::new(frame);
        let all = 1..=rates_bps.len() as u32;
        traffic.busy(&plan, all.clone());
        traffic.run(&plan, NS_PER_S);
        let stay = stay.min(rates_bps.len() - 1) as u32;
        traffic.busy(&plan, 1..=stay);
        // The last frames of the others.
        traffic.run(&plan, rates_bps.len() as u64 * 300_000);
        let calm_ns = traffic.now_ns + 10 * NS_PER_MS;
        traffic.run(&plan, NS_PER_S);
        let sum_bps: u64 = rates_bps[..stay as usize].iter().sum();
        for (id, rate_bps) in (1..=stay).zip(&rates_bps) {
            let share_bps = if sum_bps > LINK_BPS { rate_bps * 100 / (sum_bps / MBIT) } else { *rate_bps };
            let excess = traffic.excess_bytes(&[id], share_bps, calm_ns);
            prop_assert!(excess <= 1500.0 * f64::from(2 + stay), "{id}: {excess} bytes too many");
        }
    }

    /// A class that joins a full link, with less than its share, waits for a frame of each of
    /// the others at most.
    #[test]
    fn a_sparse_newcomer_is_served_at_once(
        rates_bps in prop::collection::vec(20 * MBIT..100 * MBIT, 3..20),
        pause_ns in 1..50 * NS_PER_MS,
    ) {
        let count = rates_bps.len() as u32;
        let mut rates_bps = rates_bps;
        rates_bps.push(MBIT);
        let plan = plan::equals(LINK_BPS, &rates_bps);
        let mut traffic = Traffic::new(frame);
        traffic.busy(&plan, 1..=count);
        traffic.run(&plan, NS_PER_S + pause_ns);
        for _ in 0..10 {
            let came_ns = traffic.now_ns;
            traffic.send(&plan, count + 1);
            // Half of its share.
            traffic.run(&plan, 24 * NS_PER_MS * (1 + rates_bps.iter().sum::<u64>() / LINK_BPS));
            let served = traffic.sent.iter().rfind(|sent| sent.class == count + 1);
            let waited_ns = served.expect("served").at_ns.saturating_sub(came_ns);
            prop_assert!(waited_ns <= (u64::from(count) + 2) * 120_000, "{waited_ns} ns");
        }
    }
}

/// PSPacer's figure 3 on a link of 100.
#[test]
fn four_four_four_two_two_on_ten() {
    const RATES: [u64; 5] = [40, 40, 40, 20, 20];
    let plan = plan::equals(LINK_BPS, &RATES.map(|mbit| mbit * MBIT));
    let mut traffic = Traffic::new(frame).late(50_000);
    for (from, to) in [
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (1, 5),
        (2, 5),
        (3, 5),
        (4, 5),
        (5, 5),
    ] {
        traffic.busy(&plan, from..=to);
        traffic.run(&plan, 100 * NS_PER_MS);
        let start_ns = traffic.now_ns;
        traffic.run(&plan, 2 * NS_PER_S);
        let sum: u64 = (from..=to).map(|id| RATES[id as usize - 1]).sum();
        for id in from..=to {
            let want = RATES[id as usize - 1] as f64 * 1e6 * (100.0 / sum as f64).min(1.0);
            let rate = traffic.rate_bps(id, start_ns, traffic.now_ns);
            assert!(
                (rate / want - 1.0).abs() < 0.002,
                "{id} of {from}..{to}: {rate} for {want}"
            );
        }
    }
}

/// More than can be late together within the lateness that a timer is allowed.
#[test]
fn shares_follow_rates_among_a_thousand() {
    let rates_bps: Vec<u64> = (0..1000).map(|n| (1 + n % 4) * 100_000).collect();
    let plan = plan::equals(LINK_BPS, &rates_bps);
    let mut traffic = Traffic::new(frame);
    traffic.busy(&plan, 1..=1000);
    traffic.run(&plan, NS_PER_S);
    let start_ns = traffic.now_ns;
    traffic.run(&plan, 40 * NS_PER_S);
    for (id, rate_bps) in (1..).zip(&rates_bps) {
        let want = rate_bps * 2 / 5;
        let rate = traffic.rate_bps(id, start_ns, traffic.now_ns);
        let frames = (rate - want as f64) * 40.0 / 12_000.0;
        assert!(frames.abs() < 4.0, "{id}: {rate} for {want}");
    }
}

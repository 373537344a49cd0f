//! Over a long time every class gets its rate, to the byte, and the link never exceeds its own.

use proptest::prelude::*;
use takt_algo::{Dequeued, Link, sys::takt_plan};

use super::plan;

const NS_PER_S: u64 = 1_000_000_000;

/// Keeps every class backlogged with `bytes` frames until `end_ns`, with a timer that is late
/// by turns. Returns the bytes that each class has sent.
fn saturate(plan: &takt_plan, classes: u32, bytes: u32, late_ns: u64, end_ns: u64) -> Vec<u64> {
    let mut link = Link::new();
    let (mut now_ns, mut turn) = (0, 0);
    for id in 1..=classes {
        for _ in 0..2 {
            assert!(link.enqueue(plan, id, bytes, 1, now_ns).is_some());
        }
    }
    while now_ns < end_ns {
        match link.dequeue(plan, now_ns) {
            Dequeued::Packet { class, .. } => {
                assert!(link.enqueue(plan, class, bytes, 1, now_ns).is_some());
            }
            Dequeued::Wait { until_ns } => {
                turn = (turn + 7) % 11;
                now_ns = until_ns + late_ns * turn / 10;
            }
            Dequeued::Empty => panic!("every class has packets"),
        }
    }
    (1..=classes)
        .map(|id| link.entity(id).stats.sent_bytes)
        .collect()
}

/// The bytes of a rate in a time, to the next frame and the timer's lateness.
fn assert_worth(sent_bytes: u64, rate_bps: u64, end_ns: u64, bytes: u32, late_ns: u64) {
    let exact = u128::from(rate_bps) * u128::from(end_ns) / (8 * u128::from(NS_PER_S));
    let late = u128::from(rate_bps) * u128::from(late_ns) / (8 * u128::from(NS_PER_S));
    let slack = u128::from(bytes) + late + 1;
    assert!(
        u128::from(sent_bytes).abs_diff(exact) <= slack,
        "{sent_bytes} bytes at {rate_bps} bit/s, {exact} would be exact"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn one_class_gets_exactly_its_rate(
        rate_bps in 100_000..900_000_000u64, bytes in 64..1500u32, late_ns in 0..9_000_000u64,
    ) {
        let frame_ns = u64::from(bytes) * 8 * NS_PER_S / rate_bps;
        let end_ns = frame_ns * 20_000;
        let plan = plan::equals(10 * NS_PER_S, &[rate_bps]);
        let sent = saturate(&plan, 1, bytes, late_ns, end_ns);
        assert_worth(sent[0], rate_bps, end_ns, bytes, late_ns);
    }
}

#[test]
fn five_classes_on_a_link_with_room_get_exactly_their_rates() {
    const RATES_BPS: [u64; 5] = [40_000_000, 40_000_000, 40_000_000, 20_000_000, 20_000_000];
    let plan = plan::equals(NS_PER_S, &RATES_BPS);
    for late_ns in [0, 50_000] {
        let end_ns = 60 * NS_PER_S;
        let sent = saturate(&plan, 5, 1514, late_ns, end_ns);
        for (sent_bytes, rate_bps) in sent.into_iter().zip(RATES_BPS) {
            // The five share a wire: one frame of each may be in the way.
            assert_worth(sent_bytes, rate_bps, end_ns, 1514, late_ns + 4 * 12_112);
        }
    }
}

#[test]
fn the_link_never_carries_more_than_its_rate() {
    let plan = plan::equals(
        10_000_000,
        &[4_000_000, 4_000_000, 4_000_000, 2_000_000, 2_000_000],
    );
    let end_ns = 60 * NS_PER_S;
    let sent = saturate(&plan, 5, 1500, 0, end_ns);
    assert_worth(sent.iter().sum(), 10_000_000, end_ns, 1500, 0);
    // No class starves.
    assert!(sent.iter().all(|bytes| *bytes * 8 / 60 > 1_000_000));
}

/// Classes of a better priority take what they may, the others the rest.
#[test]
fn priority_decides_on_a_link_that_is_short() {
    let mut plan = plan::link(10_000_000);
    plan.class_params[1] = plan::class(6_000_000, 1);
    plan.class_params[2] = plan::class(6_000_000, 7);
    let end_ns = 60 * NS_PER_S;
    let sent = saturate(&plan, 2, 1500, 0, end_ns);
    assert_worth(sent[0], 6_000_000, end_ns, 2 * 1500, 0);
    assert_worth(sent[1], 4_000_000, end_ns, 2 * 1500, 0);
}

/// The most classes that fit, all at once, on a link that has just enough.
#[test]
fn four_thousand_classes_get_their_rate() {
    let rates_bps: Vec<u64> = (0..4000).map(|n| 200_000 + n * 10).collect();
    let plan = plan::equals(1_000_000_000, &rates_bps);
    let end_ns = 2 * NS_PER_S;
    let sent = saturate(&plan, 4000, 1000, 0, end_ns);
    for (sent_bytes, rate_bps) in sent.into_iter().zip(rates_bps) {
        // At the start all of them want the wire at once: 4000 times 8 us.
        assert_worth(sent_bytes, rate_bps, end_ns, 1000, 4000 * 8_000);
    }
}

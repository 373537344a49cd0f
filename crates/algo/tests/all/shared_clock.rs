//! Clocks that several CPUs advance, and the shares of an oversubscribed link.

use std::thread;

use proptest::prelude::*;
use takt_algo::{Activity, SharedClock, sys::TAKT_SHARED_BITS};

const FRAME_BYTES: u64 = 1500;
const BACKLOG_MAX_NS: u64 = 60_000_000_000;
/// 8e9 << 16 / rate, as the planner computes it.
const SHIFT: u32 = 12;

fn clock(rate_kbps: u32, backlog_max_ns: u64) -> SharedClock {
    let units = 8_000_000_000u128 << TAKT_SHARED_BITS << SHIFT;
    let multiplier = (units / (u128::from(rate_kbps) * 1000)) as u64;
    SharedClock::new(rate_kbps, multiplier, SHIFT, backlog_max_ns)
}

fn units(ns: u64) -> u64 {
    ns << TAKT_SHARED_BITS
}

proptest! {
    /// Also where the count of units wraps.
    #[test]
    fn a_backlog_departs_at_the_rate(
        rate_kbps in 100..10_000_000u32,
        start_ns in 0..1u64 << 62,
        frames in prop::collection::vec(64..=1538u64, 2..200),
    ) {
        let clock = clock(rate_kbps, BACKLOG_MAX_NS);
        let now = units(start_ns);
        // A new clock stands at 0, which is then in the near future: shared_clock.h.
        prop_assume!(now.wrapping_neg() > 2 * units(BACKLOG_MAX_NS));
        let mut sum = 0;
        for len in frames {
            let due = clock.take(clock.cost(len), now).expect("room");
            prop_assert_eq!(due.wrapping_sub(now), sum);
            sum += clock.cost(len);
        }
    }

    #[test]
    fn silence_earns_no_credit(silence_ns in 10_000_000..200_000_000_000_000u64) {
        let clock = clock(10_000, 1_000_000_000);
        let cost = clock.cost(FRAME_BYTES);
        clock.take(cost, 0).expect("room");
        let now = units(silence_ns);
        prop_assert_eq!(clock.take(cost, now), Some(now));
        prop_assert_eq!(clock.take(cost, now), Some(now + cost));
    }

    #[test]
    fn a_backlog_ends_at_its_limit(packets in 1..100u64) {
        let clock = clock(10_000, packets * 1_200_000);
        let cost = clock.cost(FRAME_BYTES);
        let taken = (0..300).filter(|_| clock.take(cost, 0).is_some()).count() as u64;
        prop_assert_eq!(taken, packets + 1);
        prop_assert!(clock.take(cost, units(1_300_000)).is_some());
    }
}

/// No packet's time is lost and none is given twice.
#[test]
fn packets_of_several_threads_have_times_of_their_own() {
    const PACKETS: u64 = 2_500_000;
    let clock = clock(1_000_000, 1 << 40);
    let cost = clock.cost(FRAME_BYTES);
    let times = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| -> Vec<u64> {
                    let take = |_| clock.take(cost, 1).expect("room");
                    (0..PACKETS).map(take).collect()
                })
            })
            .collect();
        let mut times: Vec<u64> = threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a thread"))
            .collect();
        times.sort_unstable();
        times
    });
    for (at, time) in times.iter().enumerate() {
        assert_eq!(*time, 1 + at as u64 * cost);
    }
}

/// A class: its rate, and what it wants to send, in kbit/s.
type Offered = (u32, u32);

/// What classes get of a link, in kbit/s, in the second half of `ns`. Each has `ahead_ns` of
/// packets stamped at any time, as senders that are pushed back have.
fn shares(rate_kbps: u64, classes: &[Offered], ahead_ns: u64, ns: u64) -> Vec<f64> {
    let slowest = classes
        .iter()
        .map(|(rate, _)| *rate)
        .min()
        .expect("a class");
    let packet_ns = FRAME_BYTES * 8_000_000 / u64::from(slowest);
    // As the planner does.
    let shift = (u64::BITS - packet_ns.leading_zeros()).max(22);
    let activity = Activity::new(rate_kbps, shift);
    let clocks: Vec<_> = classes
        .iter()
        .map(|(rate, _)| clock(*rate, 1 << 40))
        .collect();
    let mut sent = vec![0u64; classes.len()];
    let mut offered = vec![0u64; classes.len()];
    let mut due = vec![0u64; classes.len()];
    let step_ns = 50_000;
    for now_ns in (0..ns).step_by(step_ns) {
        let now = units(now_ns);
        for (at, (rate, wanted)) in classes.iter().enumerate() {
            let may = u64::from(*wanted) * now_ns / 8_000_000;
            while offered[at] + FRAME_BYTES <= may && due[at] < now + units(ahead_ns) {
                let clock = &clocks[at];
                let cost = activity.scaled(clock.cost(FRAME_BYTES), now_ns);
                let start = clock.take(cost, now).expect("room");
                let start_ns = start >> TAKT_SHARED_BITS;
                activity.book(*rate, now_ns, start_ns, cost >> TAKT_SHARED_BITS);
                due[at] = start + cost;
                offered[at] += FRAME_BYTES;
                if (ns / 2..ns).contains(&start_ns) {
                    sent[at] += FRAME_BYTES;
                }
            }
        }
    }
    let kbps = |bytes: u64| bytes as f64 * 8e6 / (ns / 2) as f64;
    sent.into_iter().map(kbps).collect()
}

#[test]
fn an_oversubscribed_link_is_shared_in_proportion() {
    let greedy = |rate: u32| (rate, 1_000_000);
    let classes = [40_000, 40_000, 40_000, 20_000, 20_000].map(greedy);
    for ahead_ns in [1_000_000, 20_000_000, 100_000_000] {
        let found = shares(100_000, &classes, ahead_ns, 10_000_000_000);
        for (found, wanted) in found.iter().zip([25e3, 25e3, 25e3, 12.5e3, 12.5e3]) {
            let error = (found - wanted).abs() / wanted;
            assert!(error < 0.002, "{ahead_ns}: {found} instead of {wanted}");
        }
    }
}

#[test]
fn what_a_class_does_not_use_goes_to_the_others() {
    // The first wants 10 of its 40.
    let classes = [(40_000, 10_000), (40_000, 1_000_000), (80_000, 1_000_000)];
    let found = shares(100_000, &classes, 20_000_000, 10_000_000_000);
    for (found, wanted) in found.iter().zip([10e3, 30e3, 60e3]) {
        let error = (found - wanted).abs() / wanted;
        assert!(error < 0.01, "{found} instead of {wanted}");
    }
}

#[test]
fn a_link_that_is_not_full_keeps_rates() {
    let classes = [(40_000, 1_000_000), (40_000, 1_000_000), (80_000, 0)];
    let found = shares(100_000, &classes, 20_000_000, 4_000_000_000);
    for found in &found[..2] {
        assert!((found - 40e3).abs() < 40.0, "{found}");
    }
}

#[test]
fn thousands_of_slow_classes_share_as_well() {
    let classes = [(200, 1_000_000); 1000];
    let found = shares(100_000, &classes, 200_000_000, 20_000_000_000);
    let total: f64 = found.iter().sum();
    assert!((total - 100e3).abs() < 1e3, "{total}");
}

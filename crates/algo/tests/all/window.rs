//! The crowd's law, `algo/window.h`: properties that hold for any measurement and report.

use proptest::prelude::*;
use takt_algo::{Bounds, Flow, FlowSample, Group, RoundTrips, WindowTerms};

const MSS_BYTES: u32 = 1448;
const WINDOW_MAX: u32 = 1000;

fn terms() -> WindowTerms {
    WindowTerms::new(6, 7, WINDOW_MAX)
}

fn sample(window: u32, rtt_us: u64, rtt_min_us: u64) -> FlowSample {
    FlowSample {
        rate: u64::from(window) * u64::from(MSS_BYTES) * 1_000_000 / rtt_us,
        rtt_us,
        // Everything that is longer than the least is a queue that does not empty.
        stand_us: rtt_us,
        rtt_min_us,
        mss_bytes: MSS_BYTES,
        window,
        own_flows: 1,
        sent: 100,
        lost: 0,
        pacing_rate: 0,
        limited: 1,
        backlogged: 1,
        starting: 0,
    }
}

fn group(rates: &[u64], lent: &[u64]) -> Group {
    let mut group = Group::default();
    for rate in rates {
        group.hear(*rate, u64::MAX, false);
    }
    for rate in lent {
        group.hear(*rate, u64::MAX, true);
    }
    group.remember(&terms());
    group
}

prop_compose! {
    fn any_sample()(
        (rate, rtt_us, rtt_min_us) in (any::<u64>(), any::<u64>(), any::<u64>()),
        (stand_us, pacing_rate, backlogged) in (any::<u64>(), any::<u64>(), 0..2u32),
        (mss_bytes, window, own_flows) in (any::<u32>(), any::<u32>(), any::<u32>()),
        (sent, lost, limited, starting) in (any::<u32>(), any::<u32>(), 0..2u32, 0..2u32),
    ) -> FlowSample {
        FlowSample {
            rate, rtt_us, stand_us, rtt_min_us, mss_bytes, window, own_flows, sent, lost, limited,
            pacing_rate, backlogged, starting,
        }
    }
}

proptest! {
    /// With any input the bounds are ordered, at least a pair, at most the maximum; and a
    /// bounded window is between them, except after a timeout.
    #[test]
    fn bounds_are_ordered(
        samples in prop::collection::vec(any_sample(), 1..20),
        heard in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>()), 0..20),
        (window, window_max, wait_us) in (any::<u32>(), any::<u32>(), any::<u64>()),
        competes_us in prop::option::of(any::<u64>()),
    ) {
        let terms = WindowTerms::new(6, 7, window_max);
        let (mut group, mut flow) = (Group::default(), Flow::default());
        group.set_wait_us(wait_us);
        group.set_competes_us(competes_us.unwrap_or(0));
        for (rate, limit, is_lender) in heard {
            group.hear(rate, limit, is_lender);
        }
        for sample in samples {
            group.remember(&terms);
            let bounds = flow.update(&terms, &group, &sample);
            prop_assert!(bounds.lower() <= bounds.upper());
            prop_assert!((2..=window_max.clamp(2, 1_000_000)).contains(&bounds.upper()));
            let bound = bounds.bound(window, false);
            prop_assert!(bounds.lower() <= bound && bound <= bounds.upper());
            prop_assert_eq!(bounds.bound(window, true), window.min(bounds.upper()));
        }
    }

    /// Longer round trips at the same rate never widen the window of a terminal that is alone
    /// and has no stranger to hold out against.
    #[test]
    fn monotone_in_the_ratio(
        window in 8..500u32, rtt_min_us in 500..100_000u64, more_us in (0..100_000u64, 0..100_000u64),
    ) {
        let target = |rtt_us| {
            // The window is constant; the rate falls as the round trip grows.
            let sample = sample(window, rtt_us, rtt_min_us);
            let mut flow = Flow::default();
            flow.update(&terms(), &group(&[], &[]), &sample);
            flow.target_q10()
        };
        let (near, far) = (more_us.0.min(more_us.1), more_us.0.max(more_us.1));
        // Rounding of the rate.
        prop_assert!(target(rtt_min_us + far) <= target(rtt_min_us + near) + 64);
    }

    /// A window at most doubles or halves in a period.
    #[test]
    fn steps_are_limited(
        first in 2..500u32, rates in prop::collection::vec(0..10_000_000u64, 1..10),
        rtt_us in 500..1_000_000u64, rtt_min_us in 500..1_000_000u64,
    ) {
        let rtt_us = rtt_us.max(rtt_min_us);
        let group = group(&rates, &[]);
        let mut flow = Flow::default();
        let mut before = u64::from(first) * 1024;
        for _ in 0..5 {
            flow.update(&terms(), &group, &sample(first, rtt_us, rtt_min_us));
            prop_assert!(flow.target_q10() <= (before * 2).min(u64::from(WINDOW_MAX) * 1024));
            prop_assert!(flow.target_q10() >= (before / 2).max(2048));
            before = flow.target_q10();
        }
    }

    /// Rounding to pairs keeps the mean.
    #[test]
    fn pairs_keep_the_mean(rate in 100_000..3_000_000u64) {
        let group = group(&[rate; 3], &[]);
        let mut flow = Flow::default();
        let mut sample = sample(20, 20_000, 16_000);
        sample.rate = rate;
        for _ in 0..40 {
            flow.update(&terms(), &group, &sample);
        }
        let uppers: Vec<u32> = (0..200)
            .map(|_| flow.update(&terms(), &group, &sample).upper())
            .collect();
        prop_assert!(uppers.iter().all(|upper| upper % 2 == 0));
        let mean = f64::from(uppers.iter().sum::<u32>()) / 200.0;
        prop_assert!((mean - flow.target_q10() as f64 / 1024.0).abs() < 0.05);
    }

    /// One member with any report moves the share by what its rate may count for, and never
    /// below its own part of one more terminal.
    #[test]
    fn one_liar_is_bounded(
        rates in prop::collection::vec(100_000..1_000_000u64, 1..20), lie in any::<u64>(),
    ) {
        let honest = group(&rates, &[]);
        let (n, own) = (rates.len() as u64, rates[0]);
        for is_lender in [false, true] {
            let mut moved = honest;
            moved.hear(lie, own * 2, is_lender);
            let (share, before) = (moved.share_bytes_ps(), honest.share_bytes_ps());
            prop_assert!(share <= before + own * 2 / n + 1);
            prop_assert!(share + 1 >= before * n / (n + 1));
        }
    }
}

/// A lender leaves the rest to the others, and keeps what it had.
#[test]
fn lenders_lend() {
    assert_eq!(group(&[900, 900, 300], &[]).share_bytes_ps(), 700);
    assert_eq!(group(&[900, 900], &[300]).share_bytes_ps(), 900);
    let mut flow = Flow::default();
    let group = group(&[1_000_000], &[]);
    flow.update(&terms(), &group, &sample(40, 19_000, 16_500));
    let before = flow.target_q10();
    let mut held_back = sample(2, 16_500, 16_500);
    (held_back.limited, held_back.backlogged) = (0, 0);
    let bounds = flow.update(&terms(), &group, &held_back);
    assert_eq!((flow.target_q10(), bounds.lower()), (before, 0));
}

/// A full window at the rate that the flow's socket allows takes nothing from others, unless that
/// rate is nearly the share.
#[test]
fn paced_flows_lend() {
    let group = group(&[1_200_000, 1_200_000], &[]);
    for (pacing_rate, rate, uses) in [
        (0, 240_000, true),
        (u64::MAX, 240_000, true),
        (400_000, 240_000, true),
        (250_000, 240_000, false),
        (1_000_000, 900_000, true),
    ] {
        let sample = FlowSample {
            rate,
            pacing_rate,
            ..sample(10, 40_000, 16_500)
        };
        assert_eq!(Flow::uses(&group, &sample), uses, "{sample:?}");
    }
}

/// No bounds before anything is known.
#[test]
fn first_of_all_no_bounds() {
    let mut flow = Flow::default();
    let unknown = FlowSample {
        rate: 0,
        ..sample(10, 1, 1)
    };
    let bounds = flow.update(&terms(), &Group::default(), &unknown);
    assert_eq!(bounds, Bounds::new(0, WINDOW_MAX));
}

/// Slow start is left alone until the group keeps more in queues than it should; reports do not
/// shorten it, and it does not come back.
#[test]
fn slow_start_is_left_alone() {
    let mut flow = Flow::default();
    let group = group(&[200_000; 9], &[]);
    let starting = |window, stand_us| FlowSample {
        starting: 1,
        stand_us,
        ..sample(window, 270_000, 256_000)
    };
    // Six segments at 1.8 MB/s wait for 4.8 ms.
    for window in [10, 20, 40] {
        let bounds = flow.update(&terms(), &group, &starting(window, 260_500));
        assert_eq!(bounds, Bounds::new(0, WINDOW_MAX));
    }
    let bounds = flow.update(&terms(), &group, &starting(80, 261_500));
    assert!(bounds.upper() < 160, "{bounds:?}");
    let bounds = flow.update(&terms(), &group, &starting(80, 256_000));
    assert!(bounds.upper() < WINDOW_MAX, "it does not start twice");
}

/// It ends within a period once more than the flow's part waits, with what the pipe holds.
#[test]
fn slow_start_ends_where_a_queue_stands() {
    let group = group(&[200_000; 3], &[]);
    let starting = |window, stand_us| FlowSample {
        starting: 1,
        stand_us,
        window,
        rtt_min_us: 16_000,
        mss_bytes: MSS_BYTES,
        own_flows: 1,
        ..FlowSample::default()
    };
    let mut flow = Flow::default();
    // A third of six segments is its part.
    for (window, stand_us) in [(10, 16_500), (20, 17_700), (40, 16_800)] {
        assert_eq!(
            flow.begin(&terms(), &group, &starting(window, stand_us)),
            None
        );
    }
    let bounds = flow.begin(&terms(), &group, &starting(60, 20_000));
    // Four fifths of it are in the pipe.
    assert_eq!(bounds, Some(Bounds::new(0, 50)));
    assert_eq!(flow.begin(&terms(), &group, &starting(60, 40_000)), None);
}

/// Round trips of half a round trip give the time in queues, whatever bursts and jitter do to
/// the others.
#[test]
fn standing_round_trips_are_the_shortest_of_halves() {
    let mut trips = RoundTrips::default();
    let mut halves = 0;
    for at in 0..100u64 {
        // Every second one is delayed by up to 9 ms.
        let rtt_us = 20_000 + (at % 2) as u32 * (at % 10) as u32 * 1000;
        halves += u32::from(trips.add(at * 1_000_000, rtt_us, 20_000).is_some());
    }
    assert_eq!(trips.standing_us(), 20_000);
    assert!(trips.mean_us() > 22_000);
    assert!((8..=10).contains(&halves), "{halves}");
    trips.forget();
    assert!(!trips.is_measured());
}

/// A flow that came when a queue stood already, and took that for its shortest round trip, goes
/// by what the others wait.
#[test]
fn neighbours_correct_a_wrong_minimum() {
    let target = |wait_us| {
        let mut group = group(&[300_000; 10], &[]);
        group.set_wait_us(wait_us);
        let mut flow = Flow::default();
        // It takes 36 ms for the shortest, of which 20 are a queue.
        for _ in 0..20 {
            flow.update(
                &terms(),
                &group,
                &FlowSample {
                    rate: 300_000,
                    ..sample(8, 36_500, 36_000)
                },
            );
        }
        flow.target_q10()
    };
    let (alone, told) = (target(0), target(20_000));
    assert!(told < alone / 2, "{told} of {alone}");
    // What is within the noise, or less than its own, changes nothing.
    assert_eq!(target(2_000), alone);
}

/// A terminal that has far more than the others shares from then on, although its window does
/// not limit it.
#[test]
fn slow_start_ends_with_a_share() {
    let mut flow = Flow::default();
    let rates = [1_500_000, 80_000, 80_000];
    let most = FlowSample {
        rate: rates[0],
        limited: 0,
        starting: 1,
        ..sample(804, 263_000, 256_000)
    };
    let bounds = flow.update(&terms(), &group(&rates, &[]), &most);
    assert!((220..272).contains(&bounds.upper()), "{bounds:?}");
    let others = FlowSample {
        rate: rates[1],
        backlogged: 0,
        ..most
    };
    let bounds = Flow::default().update(&terms(), &group(&rates, &[]), &others);
    assert_eq!(bounds, Bounds::new(0, WINDOW_MAX));
}

/// Others have filled the queue for so long.
fn crowded(seconds: u64) -> Group {
    let mut group = group(&[300_000; 3], &[]);
    group.set_competes_us(seconds * 1_000_000);
    group
}

/// While it competes it has what CUBIC would have, until that is CUBIC's own: something is lost, or
/// the window does not limit it. After it has yielded it has that window again.
#[test]
fn it_competes_from_what_cubic_would_have() {
    let calm = || {
        let mut flow = Flow::default();
        for _ in 0..20 {
            flow.update(
                &terms(),
                &group(&[300_000; 3], &[]),
                &sample(8, 20_000, 16_500),
            );
        }
        flow
    };
    let first = calm().update(&terms(), &crowded(0), &sample(8, 300_000, 16_500));
    assert_ne!(first.lower(), 0, "without competing a bound is what it was");
    let base = calm().update(&terms(), &crowded(1), &sample(8, 300_000, 16_500));
    for (lost, limited) in [(1, 1), (0, 0)] {
        let mut flow = calm();
        let lower = |flow: &mut Flow, seconds, sample: &FlowSample| {
            let bounds = flow.update(&terms(), &crowded(seconds), sample);
            assert_eq!(bounds.upper(), WINDOW_MAX);
            bounds.lower()
        };
        assert_eq!(
            lower(&mut flow, 1, &sample(8, 300_000, 16_500)),
            base.lower()
        );
        // 0.4 times a cube.
        for (seconds, grown) in [(3, 11), (5, 50), (10, 400)] {
            let lower = lower(&mut flow, seconds, &sample(8, 300_000, 16_500));
            assert!(
                lower.abs_diff(base.lower() + grown) <= 1,
                "{lower} after {seconds} s"
            );
        }
        let ended = FlowSample {
            lost,
            limited,
            ..sample(400, 300_000, 16_500)
        };
        assert_eq!(lower(&mut flow, 11, &ended), 0);
        assert_eq!(lower(&mut flow, 12, &sample(300, 300_000, 16_500)), 0);
        // It yields for three seconds.
        for period in 0..15 {
            let window = 300 >> period.min(6);
            flow.update(
                &terms(),
                &group(&[300_000; 3], &[]),
                &sample(window, 300_000, 16_500),
            );
        }
        let again = lower(&mut flow, 3, &sample(4, 300_000, 16_500));
        assert!((230..=311).contains(&again), "{again}");
    }
    let most = calm().update(&terms(), &crowded(1 << 40), &sample(8, 300_000, 16_500));
    assert_eq!((most.lower(), most.upper()), (WINDOW_MAX, WINDOW_MAX));
}

/// Losses beyond the radio's end the lower bound.
#[test]
fn many_losses_end_the_lower_bound() {
    for (lost, is_held) in [(0, true), (6, true), (7, false), (100, false)] {
        let mut flow = Flow::default();
        let sample = FlowSample {
            lost,
            ..sample(40, 19_000, 16_500)
        };
        let bounds = flow.update(&terms(), &group(&[3_000_000], &[]), &sample);
        assert_eq!(bounds.lower() > 0, is_held, "{lost} of 100");
    }
}

/// Alone, on a pipe of this size: it fills the pipe, keeps its small queue, and stays.
#[test]
fn alone_it_settles_with_its_queue() {
    for (pipe, rtt_min_us) in [(4u64, 1_000u64), (40, 16_000), (500, 256_000)] {
        let mut flow = Flow::default();
        let mut window = 10u64;
        for _ in 0..200 {
            let rtt_us = rtt_min_us * window.max(pipe) / pipe;
            let now = sample(window as u32, rtt_us, rtt_min_us);
            let mut group = Group::default();
            group.hear(now.rate, u64::MAX, false);
            window = u64::from(flow.update(&terms(), &group, &now).upper());
        }
        assert!(
            (pipe + 1..=pipe + 8).contains(&window),
            "{window} in a pipe of {pipe}"
        );
    }
}

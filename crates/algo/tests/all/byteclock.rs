//! The byte clock against exact arithmetic.

use proptest::prelude::*;
use takt_algo::{ByteClock, sys};

const RATE_MIN_BPS: u64 = sys::TAKT_RATE_MIN_BPS as u64;
const RATE_MAX_BPS: u64 = sys::TAKT_RATE_MAX_BPS;
const NS_PER_BYTE_AT_1BPS: u128 = sys::TAKT_NS_PER_BYTE_AT_1BPS as u128;

/// Slow and fast rates are equally likely, and hardly any is a round number.
fn rate_bps() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (3.0..11.60206f64)
            .prop_map(|exponent| (10f64.powf(exponent) as u64).clamp(RATE_MIN_BPS, RATE_MAX_BPS)),
        1 => Just(RATE_MIN_BPS),
        1 => Just(RATE_MAX_BPS),
    ]
}

/// From an empty acknowledgement to the largest segment the kernel builds.
fn len() -> impl Strategy<Value = u64> {
    prop_oneof![64..=1538u64, 1..=1u64 << 19]
}

/// The clock's position in units of 1/rate ns: a whole number.
fn position(clock: &ByteClock, rate_bps: u64) -> u128 {
    u128::from(clock.due_ns()) * u128::from(rate_bps) + u128::from(clock.rem())
}

/// The position that it must have.
fn exact(start_ns: u64, rate_bps: u64, sum_bytes: u128) -> u128 {
    u128::from(start_ns) * u128::from(rate_bps) + NS_PER_BYTE_AT_1BPS * sum_bytes
}

proptest! {
    #[test]
    fn the_average_is_exact_however_late_the_timer(
        rate_bps in rate_bps(),
        start_ns in 0..1u64 << 62,
        lag_max_ns in 0..1_000_000_000u64,
        frames in prop::collection::vec((len(), 0.0..=1.0f64), 1..200),
    ) {
        let mut clock = ByteClock::new(rate_bps, lag_max_ns);
        clock.start(start_ns);
        let mut sum_bytes = 0;
        for (len, lateness) in frames {
            let sent_ns = clock.due_ns() + (lag_max_ns as f64 * lateness) as u64;
            clock.spend(0, sent_ns, len);
            sum_bytes += u128::from(len);
            prop_assert!(clock.rem() < rate_bps);
            prop_assert_eq!(position(&clock, rate_bps), exact(start_ns, rate_bps, sum_bytes));
        }
    }

    #[test]
    fn silence_earns_no_credit(
        rate_bps in rate_bps(),
        before in len(),
        silence_ns in 1..1u64 << 50,
        burst in prop::collection::vec(len(), 1..50),
    ) {
        let mut clock = ByteClock::new(rate_bps, 10_000_000);
        clock.spend(0, 0, before);
        let now_ns = clock.due_ns() + silence_ns;
        clock.start(now_ns);
        prop_assert_eq!((clock.due_ns(), clock.rem()), (now_ns, 0));
        for len in &burst {
            clock.spend(0, clock.due_ns(), *len);
        }
        let sum_bytes = burst.iter().map(|len| u128::from(*len)).sum();
        prop_assert_eq!(position(&clock, rate_bps), exact(now_ns, rate_bps, sum_bytes));
    }

    #[test]
    fn starting_never_turns_a_clock_back(
        rate_bps in rate_bps(), len in len(), now_ns in 0..1u64 << 62, again_ns in 0..1u64 << 62,
    ) {
        let mut clock = ByteClock::new(rate_bps, 0);
        clock.start(now_ns);
        clock.spend(0, now_ns, len);
        let before_ns = clock.due_ns();
        clock.start(again_ns);
        prop_assert_eq!(clock.due_ns(), before_ns.max(again_ns));
    }

    /// After a stall of any length, at most lag_max's worth leaves at once, and the frame that
    /// was due anyway.
    #[test]
    fn catching_up_is_bounded(
        rate_bps in 1_000_000..=RATE_MAX_BPS,
        lag_max_ns in 0..=20_000_000u64,
        stall_ns in 0..1u64 << 55,
        len in 512..=1u64 << 16,
    ) {
        // The most frames that a test sends.
        let lag_max_ns = lag_max_ns.min((len * 8 * 1_000_000_000 / rate_bps) * 2000);
        let mut clock = ByteClock::new(rate_bps, lag_max_ns);
        clock.start(1);
        let now_ns = 1 + stall_ns;
        let mut frames = 0u128;
        while clock.due_ns() <= now_ns {
            clock.spend(0, now_ns, len);
            frames += 1;
        }
        let caught_up = (frames - 1) * u128::from(len) * NS_PER_BYTE_AT_1BPS;
        prop_assert!(caught_up < u128::from(lag_max_ns.min(stall_ns) + 1) * u128::from(rate_bps));
    }

    /// Bytes that count from the time when something else released them.
    #[test]
    fn a_clock_counts_from_the_ideal_start(
        rate_bps in rate_bps(), len in len(),
        ideal_ns in 0..1u64 << 50, late_ns in 0..10_000_000u64,
    ) {
        let mut clock = ByteClock::new(rate_bps, 10_000_000);
        clock.spend(ideal_ns, ideal_ns + late_ns, len);
        prop_assert_eq!(position(&clock, rate_bps), exact(ideal_ns, rate_bps, len.into()));
    }

    #[test]
    fn another_rate_holds_from_the_next_frame_on(
        old_bps in rate_bps(), new_bps in rate_bps(),
        first in len(), second in len(), start_ns in 0..1u64 << 60,
    ) {
        let mut clock = ByteClock::new(old_bps, 0);
        clock.start(start_ns);
        clock.spend(0, start_ns, first);
        let between_ns = clock.due_ns();
        clock.set_rate(new_bps);
        prop_assert_eq!(clock.due_ns(), between_ns);

        clock.spend(0, between_ns, second);
        prop_assert!(clock.rem() < new_bps);
        // The old remainder is worth less than a nanosecond, kept or not.
        let moved = position(&clock, new_bps) - exact(between_ns, new_bps, 0);
        let cost = u128::from(second) * NS_PER_BYTE_AT_1BPS;
        prop_assert!((cost..cost + u128::from(new_bps)).contains(&moved));
    }

    #[test]
    fn nothing_overflows_before_the_year_2262(
        rate_bps in rate_bps(), lag_max_ns: u64, now_ns in 0..1u64 << 63, len in 0..=sys::TAKT_LEN_MAX as u64,
    ) {
        let mut clock = ByteClock::new(rate_bps, lag_max_ns);
        clock.start(now_ns);
        clock.spend(0, now_ns, len);
        prop_assert_eq!(position(&clock, rate_bps), exact(now_ns, rate_bps, len.into()));
    }

    /// No checked policy has these; still they must not trap.
    #[test]
    fn wild_parameters_only_give_wild_times(
        rate_bps: u64, lag_max_ns: u64, from_ns: u64, sent_ns: u64, len: u64,
    ) {
        for rate_bps in [0, 1, rate_bps, u64::MAX] {
            let mut clock = ByteClock::new(rate_bps, lag_max_ns);
            clock.spend(from_ns, sent_ns, len);
            clock.spend(from_ns, sent_ns, u64::MAX);
        }
    }
}

/// A thousand million frames of changing length, each served a little late, and not one unit of
/// 1/rate ns is lost or gained. With prime rates no cost is a whole number of nanoseconds.
#[test]
fn no_drift_over_1e9_frames() {
    const RATES_BPS: [u64; 3] = [1_009, 7_000_003, 399_999_999_977];
    const START_NS: u64 = 1_234_567_891;
    const LAG_MAX_NS: u64 = 1 << 20;
    let mut clocks = RATES_BPS.map(|rate_bps| ByteClock::new(rate_bps, LAG_MAX_NS));
    for clock in &mut clocks {
        clock.start(START_NS);
    }
    let mut sum_bytes = 0;
    let mut random = 1u64;
    for _ in 0..1_000_000_000 {
        // Knuth's MMIX generator; its upper bits are the random ones.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let len = 64 + (random >> 54);
        let late_ns = (random >> 32) & (LAG_MAX_NS - 1);
        sum_bytes += len;
        for clock in &mut clocks {
            clock.spend(0, clock.due_ns() + late_ns, len);
        }
    }
    for (clock, rate_bps) in clocks.iter().zip(RATES_BPS) {
        assert_eq!(
            position(clock, rate_bps),
            exact(START_NS, rate_bps, sum_bytes.into())
        );
    }
}

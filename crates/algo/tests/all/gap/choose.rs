//! Which gap frame is next: never one that leaves a remainder too short for another, and the
//! remainder reaches zero.

use proptest::prelude::*;
use takt_algo::{
    sys::{
        self, TAKT_GAP_LEN_MIN, TAKT_GAP_OVERHEAD_MAX, TAKT_GAP_STEP, takt_clock, takt_gap,
        takt_gap_choose, takt_gap_missing,
    },
    zeroed_box,
};

fn choose(gap: &mut takt_gap, overhead_bytes: u32, missing: u64) -> u32 {
    // SAFETY: a valid struct; see the crate's documentation.
    unsafe { takt_gap_choose(gap, overhead_bytes, missing) }
}

fn is_basic(gap: &takt_gap, len: u32) -> bool {
    let fine = TAKT_GAP_LEN_MIN..TAKT_GAP_LEN_MIN + TAKT_GAP_STEP;
    fine.contains(&len)
        || len == gap.longest
        || (len - TAKT_GAP_LEN_MIN).is_multiple_of(TAKT_GAP_STEP)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn basic_lengths_make_up_every_gap(
        overhead in 0..=TAKT_GAP_OVERHEAD_MAX,
        longest in sys::TAKT_GAP_LONGEST_MIN..sys::TAKT_GAP_LENS,
        missing in prop_oneof![0..200u64, 0..4000u64, 0..100_000u64],
        in_stock in prop::option::of(60..2000u32),
    ) {
        let mut gap = zeroed_box::<takt_gap>();
        gap.longest = longest;
        if let Some(len) = in_stock {
            gap.lengths[len as usize].head = 1;
        }
        let shortest = u64::from(TAKT_GAP_LEN_MIN + overhead);
        let mut left = missing;
        let mut frames = 0;
        loop {
            let len = choose(&mut gap, overhead, left);
            if len == 0 {
                prop_assert!(2 * left < shortest, "{left} bytes are worth a frame");
                break;
            }
            prop_assert!((TAKT_GAP_LEN_MIN..=longest).contains(&len));
            prop_assert!(is_basic(&gap, len) || Some(len) == in_stock, "{len}");
            let wire = u64::from(len + overhead);
            if wire > left {
                prop_assert_eq!(wire, shortest);
                prop_assert!(2 * (wire - left) <= shortest);
                break;
            }
            left -= wire;
            prop_assert!(left == 0 || left >= shortest, "{left} bytes remain");
            frames += 1;
        }
        // The longest ones, and two for the rest.
        prop_assert!(frames <= missing / u64::from(longest + overhead) + 2);
    }

    #[test]
    fn an_exact_length_is_learned_and_then_used(
        len in TAKT_GAP_LEN_MIN + TAKT_GAP_STEP..1514, overhead in 0..60u32,
    ) {
        let mut gap = zeroed_box::<takt_gap>();
        gap.longest = 1514;
        let missing = u64::from(len + overhead);
        prop_assert_ne!(choose(&mut gap, overhead, missing), len);
        prop_assert_eq!(gap.lengths[len as usize].missed, 1);
        prop_assert_eq!(gap.missed, 1);
        gap.lengths[len as usize].head = 1;
        prop_assert_eq!(choose(&mut gap, overhead, missing), len);
        prop_assert_eq!(gap.missed, 1);
    }

    #[test]
    fn missing_bytes_are_counted_to_the_nearest(
        rate_bps in prop_oneof![1_000..1_000_000u64, 1_000_000..400_000_000_000u64],
        from_ns in 0..1u64 << 61,
        bytes in 0..20_000u64,
        fraction in 0..1000u64,
    ) {
        let most = 10_000;
        let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate_bps);
        let ns = u64::try_from(ns).unwrap();
        let clock = takt_clock { due_ns: from_ns, rem: fraction * rate_bps / 1000 };
        // SAFETY: a valid struct.
        let missing = unsafe { takt_gap_missing(&clock, rate_bps, from_ns + ns, most) };
        let exact = (ns as f64 - fraction as f64 / 1000.0) * rate_bps as f64 / 8e9;
        if missing <= most {
            prop_assert!((missing as f64 - exact).abs() <= 0.5 + 1e-3 || exact < 0.0 && missing == 0);
        } else {
            prop_assert!(exact > most as f64 - rate_bps as f64 / 4e9);
        }
    }
}

//! Multiples of fractions against arithmetic of 128 bits.

use proptest::prelude::*;
use takt_algo::sys::{TAKT_EXACT_DEN_MAX, TAKT_EXACT_MAX_NS, takt_exact};

/// Of up to 4 s, the longest included.
fn exact() -> impl Strategy<Value = takt_exact> {
    let den = prop_oneof![Just(1), Just(3), 1..=TAKT_EXACT_DEN_MAX];
    den.prop_flat_map(|den| {
        let num_max = u64::from(TAKT_EXACT_MAX_NS) * u64::from(den);
        let num = prop_oneof![Just(num_max), Just(num_max - 1), 1..=num_max];
        num.prop_map(move |num| takt_exact::new(num, den))
    })
}

proptest! {
    #[test]
    fn multiples_are_counted_as_with_128_bits(exact in exact(), time_ns in any::<u64>()) {
        // No count of them has more than 64 bits in the time that a host is up.
        let time_ns = time_ns >> 8;
        let expected = u128::from(time_ns) * u128::from(exact.den) / u128::from(exact.num);
        prop_assume!(expected < 1 << 63);
        prop_assert_eq!(u128::from(exact.count(time_ns)), expected);
    }

    /// On another clock, edges have the same numbers, at that clock's times.
    #[test]
    fn edges_follow_their_clock(
        exact in exact(),
        ahead_ns in any::<u64>(),
        time_ns in any::<u64>(),
    ) {
        let (ahead_ns, time_ns) = (ahead_ns >> 2, time_ns >> 2);
        let tai = exact.on_clock(ahead_ns);
        let count = exact.count(ahead_ns + time_ns);
        prop_assert_eq!(tai.count(time_ns), count);
        prop_assert_eq!(tai.edge_ns(count).wrapping_add(ahead_ns), exact.edge_ns(count));
    }

    /// Less than a nanosecond late, and never early; and counted as that multiple again.
    #[test]
    fn edges_do_not_drift(exact in exact(), count in 0u64..1 << 24) {
        prop_assume!(exact.num / u64::from(exact.den) >= 2);
        let edge_ns = exact.edge_ns(count);
        let at = u128::from(count) * u128::from(exact.num);
        prop_assert_eq!(u128::from(edge_ns), at.div_ceil(exact.den.into()));
        prop_assert_eq!(exact.count(edge_ns), count);
        prop_assert!(count == 0 || exact.count(edge_ns - 1) == count - 1);
    }
}

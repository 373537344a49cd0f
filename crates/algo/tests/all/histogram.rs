//! The buckets of durations against their definition.

use proptest::prelude::*;
use takt_algo::{BUCKETS, bucket};

/// The begin of a bucket, as the header says.
fn floor_ns(bucket: u32) -> u64 {
    match bucket {
        0 | 1 => u64::from(bucket),
        _ => {
            let power = 1u64 << (bucket / 2);
            power + u64::from(bucket % 2) * power / 2
        }
    }
}

#[test]
fn every_bucket_begins_where_it_says() {
    // Bucket 3 would begin at 3, and 2 at 2: none is empty but by that.
    for at in 0..BUCKETS {
        assert_eq!(bucket(floor_ns(at)), at);
        if at > 0 {
            assert_eq!(bucket(floor_ns(at) - 1), at - 1);
        }
    }
}

#[test]
fn what_is_longer_than_the_last_is_in_the_last() {
    for ns in [u64::from(u32::MAX), 1 << 32, u64::MAX] {
        assert_eq!(bucket(ns), BUCKETS - 1);
    }
}

proptest! {
    #[test]
    fn a_duration_lies_in_its_bucket(shift in 0..64u32, random in any::<u64>()) {
        let ns = random >> shift;
        let at = bucket(ns);
        prop_assert!(at < BUCKETS);
        prop_assert!(floor_ns(at) <= ns);
        prop_assert!(at == BUCKETS - 1 || ns < floor_ns(at + 1));
    }
}

//! `algo/histogram.h`.

use crate::sys;

/// The number of buckets.
pub const BUCKETS: u32 = sys::TAKT_BUCKETS;

/// The bucket in which a duration is counted.
pub fn bucket(ns: u64) -> u32 {
    // SAFETY: integers only.
    unsafe { sys::takt_bucket(ns) }
}

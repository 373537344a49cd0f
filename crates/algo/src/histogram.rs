//! `algo/histogram.h`.

use crate::sys;

/// How many there are.
pub const BUCKETS: u32 = sys::TAKT_BUCKETS;

/// Which bucket a duration is counted in.
pub fn bucket(ns: u64) -> u32 {
    // SAFETY: integers only.
    unsafe { sys::takt_bucket(ns) }
}

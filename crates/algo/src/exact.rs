//! `algo/exact.h`.

use crate::sys::{self, takt_exact};

impl takt_exact {
    /// A time of `num / den` nanoseconds, in lowest terms.
    pub fn new(num: u64, den: u32) -> Self {
        Self {
            num,
            den,
            pad: 0,
            ahead_ns: 0,
        }
    }

    /// Its multiples on a clock that is so far ahead of the one whose times are given.
    pub fn on_clock(self, ahead_ns: u64) -> Self {
        Self { ahead_ns, ..self }
    }

    /// How many whole multiples there are up to this time.
    pub fn count(&self, time_ns: u64) -> u64 {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_exact_count(self, time_ns) }
    }

    /// The first whole nanosecond at or after this multiple.
    pub fn edge_ns(&self, count: u64) -> u64 {
        // SAFETY: as above.
        unsafe { sys::takt_exact_edge_ns(self, count) }
    }
}

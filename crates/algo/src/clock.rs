//! `algo/byteclock.h`.

use crate::sys;

/// A clock that advances with the bytes sent.
#[derive(Debug, Clone, Copy)]
pub struct ByteClock {
    params: sys::takt_clock_params,
    state: sys::takt_clock,
}

impl ByteClock {
    /// A checked policy names 1 kbit/s to 400 Gbit/s; a rate of 0 counts as 1.
    pub fn new(rate_bps: u64, lag_max_ns: u64) -> Self {
        Self {
            params: sys::takt_clock_params {
                rate_bps,
                lag_max_ns,
            },
            state: sys::takt_clock { due_ns: 0, rem: 0 },
        }
    }

    /// Changes the rate, as when a policy is replaced.
    pub fn set_rate(&mut self, rate_bps: u64) {
        self.params.rate_bps = rate_bps;
    }

    /// An idle owner has a frame at `now_ns`.
    #[inline]
    pub fn start(&mut self, now_ns: u64) {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_clock_start(&mut self.state, now_ns) }
    }

    /// A frame of `len` bytes left at `sent_ns`, counted from `from_ns` at the earliest.
    #[inline]
    pub fn spend(&mut self, from_ns: u64, sent_ns: u64, len: u64) {
        // SAFETY: as above.
        unsafe { sys::takt_clock_spend(&mut self.state, &self.params, from_ns, sent_ns, len) }
    }

    /// The earliest departure of the next frame.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.state.due_ns
    }

    /// Fraction of [`Self::due_ns`], in units of 1/rate nanoseconds.
    pub fn rem(&self) -> u64 {
        self.state.rem
    }
}

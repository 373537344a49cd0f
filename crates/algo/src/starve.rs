//! `algo/starve.h`.

use crate::sys::{self, takt_starve};

/// The looks at one CPU, for threads that a realtime thread lets starve.
#[derive(Clone, Copy, Default)]
pub struct Starve(takt_starve);

impl Starve {
    /// How long a thread may wait while ordinary ones get nothing.
    pub const MAX_NS: u64 = sys::TAKT_STARVE_MAX_NS as u64;
    /// How long it may while they get less than their part.
    pub const SLOW_MAX_NS: u64 = sys::TAKT_STARVE_SLOW_MAX_NS as u64;
    /// One in so many is their part.
    pub const PARTS: u64 = sys::TAKT_STARVE_PARTS as u64;

    /// `waits` is who has waited longest while a realtime thread runs, and since when; 0 if no one
    /// does. `got_ns` is the time that ordinary threads have had so far. Returns for how long one
    /// has waited, if that is too long.
    pub fn look(&mut self, now_ns: u64, waits: u64, got_ns: u64) -> Option<u64> {
        // SAFETY: a valid struct; see the crate's documentation.
        let waited_ns = unsafe { sys::takt_starve_look(&mut self.0, now_ns, waits, got_ns) };
        (waited_ns != 0).then_some(waited_ns)
    }
}

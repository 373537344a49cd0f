//! `algo/starve.h`.

use crate::sys::{self, takt_starve};

/// The looks at one CPU, for threads that a realtime thread lets starve.
#[derive(Clone, Copy, Default)]
pub struct Starve(takt_starve);

impl Starve {
    /// How long a thread may wait.
    pub const MAX_NS: u64 = sys::TAKT_STARVE_MAX_NS as u64;

    /// `waits` is who has waited longest while a realtime thread runs, and since when; 0 if no one
    /// does. `ran_ns` is when an ordinary thread last came to the CPU or left it. Returns for how
    /// long one has waited in vain, if that is too long.
    pub fn look(&mut self, now_ns: u64, waits: u64, ran_ns: u64) -> Option<u64> {
        // SAFETY: a valid struct; see the crate's documentation.
        let waited_ns = unsafe { sys::takt_starve_look(&mut self.0, now_ns, waits, ran_ns) };
        (waited_ns != 0).then_some(waited_ns)
    }
}

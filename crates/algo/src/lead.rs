//! `algo/lead.h`.

use crate::sys::{self, takt_lead};

/// A lead that is learned from how late starts are.
#[derive(Clone, Copy, Default)]
pub struct Lead(pub takt_lead);

impl Lead {
    /// Starts that are released with the longest lead.
    pub const FIRST: u32 = sys::TAKT_LEAD_FIRST;
    /// Starts after which an older one no longer counts, or twice as many.
    pub const WINDOW: u32 = sys::TAKT_LEAD_WINDOW;
    /// Added to the lateness.
    pub const MARGIN_NS: u32 = sys::TAKT_LEAD_MARGIN_NS;

    /// A thread's code ran so long after its release.
    pub fn note(&mut self, late_ns: u64) {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_lead_note(&mut self.0, late_ns) }
    }

    /// The present lead, of at most so much.
    pub fn ns(&self, max_ns: u32) -> u32 {
        // SAFETY: as above.
        unsafe { sys::takt_lead_ns(&self.0, max_ns) }
    }
}

//! `algo/codel.h`.

use crate::sys::{self, takt_codel};

/// When packets of a queue are dropped: sojourns of `target_ns` for `interval_ns` are too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelTerms {
    /// The sojourn that a queue may keep up, in ns.
    pub target_ns: u32,
    /// A round trip, in which a sender would slow down, in ns.
    pub interval_ns: u32,
}

/// CoDel's state of one queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Codel(takt_codel);

impl Codel {
    /// Whether the first packet of the queue, which was there for `sojourn_ns`, is to be dropped;
    /// `behind_bytes` wait beside it. After a drop, ask again for the next packet.
    pub fn drops(
        &mut self,
        terms: &CodelTerms,
        sojourn_ns: u64,
        behind_bytes: u64,
        now_ns: u64,
    ) -> bool {
        let CodelTerms {
            target_ns,
            interval_ns,
        } = *terms;
        let state = &mut self.0;
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe {
            sys::takt_codel_drops(
                state,
                target_ns,
                interval_ns,
                sojourn_ns,
                behind_bytes,
                now_ns,
            ) != 0
        }
    }

    /// The queue is empty.
    pub fn empty(&mut self) {
        // SAFETY: as above.
        unsafe { sys::takt_codel_empty(&mut self.0) }
    }
}

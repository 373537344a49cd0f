//! `algo/shared_clock.h` and `algo/activity.h`.

use std::cell::UnsafeCell;

use crate::sys;

/// A byte clock that several threads advance.
pub struct SharedClock {
    params: sys::takt_shared_params,
    state: UnsafeCell<sys::takt_shared_clock>,
}

// SAFETY: algo/ changes the state by atomic operations only.
unsafe impl Sync for SharedClock {}

impl SharedClock {
    /// A byte costs `multiplier / 2^shift` units of 2^-16 ns.
    pub fn new(rate_kbps: u32, multiplier: u64, shift: u32, backlog_max_ns: u64) -> Self {
        let backlog_max = backlog_max_ns << sys::TAKT_SHARED_BITS;
        Self {
            params: sys::takt_shared_params {
                backlog_max,
                forwarded_max: backlog_max,
                multiplier,
                shift,
                rate_kbps,
            },
            state: UnsafeCell::default(),
        }
    }

    /// What a packet of so many bytes costs, in units.
    pub fn cost(&self, bytes: u64) -> u64 {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_shared_cost(&self.params, bytes) }
    }

    /// When a packet departs, in units of the time that `now` is in; `None`: its backlog is full.
    pub fn take(&self, cost: u64, now: u64) -> Option<u64> {
        self.take_of(self.params.backlog_max, cost, now)
    }

    /// As [`Self::take`], for packets with a backlog of their own limit.
    pub fn take_within(&self, backlog_max_ns: u64, cost: u64, now: u64) -> Option<u64> {
        self.take_of(backlog_max_ns << sys::TAKT_SHARED_BITS, cost, now)
    }

    fn take_of(&self, backlog_max: u64, cost: u64, now: u64) -> Option<u64> {
        // SAFETY: as above.
        let ahead = unsafe { sys::takt_shared_take(self.state.get(), backlog_max, cost, now) };
        (ahead != sys::TAKT_SHARED_REFUSED).then(|| now.wrapping_add(ahead))
    }
}

/// How much a link is oversubscribed.
pub struct Activity {
    params: sys::takt_activity_params,
    state: Box<UnsafeCell<sys::takt_activity>>,
}

impl Activity {
    /// Of a link of this rate, in epochs of `2^epoch_shift` ns.
    pub fn new(rate_kbps: u64, epoch_shift: u32) -> Self {
        Self {
            params: sys::takt_activity_params {
                rate_kbps,
                epoch_shift,
                is_oversubscribed: 1,
            },
            state: Box::default(),
        }
    }

    /// A cost by the present scale.
    pub fn scaled(&self, cost: u64, now_ns: u64) -> u64 {
        // SAFETY: valid structs; see the crate's documentation.
        unsafe {
            let scale = sys::takt_activity_scale(self.state.get(), &self.params, now_ns);
            sys::takt_scaled(cost, scale)
        }
    }

    /// A class of this rate has a packet that takes its clock for so long.
    pub fn book(&self, rate_kbps: u32, now_ns: u64, start_ns: u64, ns: u64) {
        // SAFETY: as above.
        unsafe {
            sys::takt_activity_book(
                self.state.get(),
                &self.params,
                rate_kbps,
                now_ns,
                start_ns,
                ns,
            );
        }
    }
}

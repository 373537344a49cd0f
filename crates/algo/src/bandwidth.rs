//! `algo/bandwidth.h`.

use crate::sys::{self, takt_bandwidth};

/// The clock of a group with a limit of processor time.
#[derive(Clone, Copy)]
pub struct Bandwidth(takt_bandwidth);

impl Bandwidth {
    /// The longest wait.
    pub const WAIT_MAX_NS: u64 = sys::TAKT_BANDWIDTH_WAIT_MAX_NS;
    /// The least credit.
    pub const CREDIT_MIN_NS: u64 = sys::TAKT_BANDWIDTH_CREDIT_MIN_NS as u64;

    /// A quota in every period, and how much more may be saved up.
    pub fn new(period_us: u64, quota_us: u64, burst_us: u64) -> Self {
        let mut bandwidth = takt_bandwidth::default();
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_bandwidth_set(&mut bandwidth, period_us, quota_us, burst_us) };
        Self(bandwidth)
    }

    /// A thread of the group ran for this long, until now.
    pub fn charge(&mut self, now_ns: u64, ran_ns: u64) {
        // SAFETY: as above.
        unsafe { sys::takt_bandwidth_charge(&mut self.0, now_ns, ran_ns) }
    }

    /// How long the group's threads must wait.
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        // SAFETY: as above.
        unsafe { sys::takt_bandwidth_wait(&self.0, now_ns) }
    }
}

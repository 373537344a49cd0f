//! `algo/window.h`.

use crate::sys::{
    self, takt_round_trips, takt_window, takt_window_bounds, takt_window_group, takt_window_params,
};

/// The parameters of the bounds; the same for all flows of a group.
#[derive(Debug, Clone, Copy)]
pub struct WindowTerms(takt_window_params);

impl WindowTerms {
    /// The packets that all terminals together keep in queues: `docs/crowd-law.md` derives the
    /// number.
    pub const STANDING_SEGMENTS: u32 = 6;
    /// The capacity estimate falls by 2^-7 per period.
    pub const MEMORY_SHIFT: u32 = 7;

    /// `standing_segments` for all terminals together; windows are at most `window_max`
    /// segments (2 to 1,000,000; others are cut).
    pub fn new(standing_segments: u32, memory_shift: u32, window_max: u32) -> Self {
        Self(takt_window_params {
            standing_q10: u64::from(standing_segments) * u64::from(sys::TAKT_WINDOW_ONE_Q10),
            memory_shift,
            window_max,
        })
    }

    /// What all terminals together keep in queues at least.
    pub fn standing_segments(&self) -> u64 {
        self.0.standing_q10 / u64::from(sys::TAKT_WINDOW_ONE_Q10)
    }

    /// The layout that the kernel reads.
    pub fn params(&self) -> takt_window_params {
        self.0
    }
}

impl Default for WindowTerms {
    fn default() -> Self {
        Self::new(
            Self::STANDING_SEGMENTS,
            Self::MEMORY_SHIFT,
            sys::TAKT_WINDOW_MAX,
        )
    }
}

/// A terminal's knowledge of its group, itself included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Group(takt_window_group);

impl Group {
    /// Begins a period: forgets the members that were heard, not the capacity and the strangers.
    pub fn forget_members(&mut self) {
        self.0 = takt_window_group {
            capacity: self.0.capacity,
            strangers: self.0.strangers,
            stranger_rate: self.0.stranger_rate,
            ..takt_window_group::default()
        };
    }

    /// A member, oneself included, has `rate_bytes_ps`, which counts up to `limit_bytes_ps`;
    /// `is_lender`: its applications limit its rate.
    pub fn hear(&mut self, rate_bytes_ps: u64, limit_bytes_ps: u64, is_lender: bool) {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe {
            sys::takt_window_hear(
                &mut self.0,
                rate_bytes_ps,
                limit_bytes_ps,
                u32::from(is_lender),
            )
        }
    }

    /// All members were heard.
    pub fn remember(&mut self, terms: &WindowTerms) {
        // SAFETY: as above.
        unsafe { sys::takt_window_remember(&mut self.0, &terms.0) }
    }

    /// The capacity is at least so much.
    pub fn raise_capacity(&mut self, capacity_bytes_ps: u64) {
        let capacity_bytes_ps = capacity_bytes_ps.min(sys::TAKT_WINDOW_RATE_MAX);
        self.0.capacity = self.0.capacity.max(capacity_bytes_ps);
    }

    /// The number of terminals that use all they can get.
    pub fn users(&self) -> u64 {
        // SAFETY: as above.
        unsafe { sys::takt_window_users(&self.0) }
    }

    /// The share of each of them, in bytes per second.
    pub fn share_bytes_ps(&self) -> u64 {
        // SAFETY: as above.
        unsafe { sys::takt_window_share(&self.0, self.0.rate) }
    }

    /// The layout that the kernel reads.
    pub fn sum(&self) -> takt_window_group {
        self.0
    }

    /// The lower median of what members, oneself included, wait in queues that never empty.
    pub fn set_wait_us(&mut self, wait_us: u64) {
        self.0.wait_us = wait_us;
    }

    /// Flows have no bounds: others have filled the queue for so long, and members compete for it;
    /// 0: they do not.
    pub fn set_competes_us(&mut self, competes_us: u64) {
        self.0.competes_us = competes_us;
    }

    /// See [`Self::set_competes_us`].
    pub fn competes_us(&self) -> u64 {
        self.0.competes_us
    }

    /// Frames that a member sends again in the mean, of 1024.
    pub fn set_retries_q10(&mut self, retries_q10: u32) {
        self.0.retries_q10 = retries_q10.into();
    }

    /// All keep at least so long in queues, for aggregates; 0: no more than the terms say.
    pub fn set_queue_us(&mut self, queue_us: u64) {
        self.0.queue_us = queue_us;
    }

    /// See [`Self::set_competes_us`].
    pub fn competes(&self) -> bool {
        self.0.competes_us != 0
    }

    /// What all members get together, in bytes per second.
    pub fn rate_bytes_ps(&self) -> u64 {
        self.0.rate
    }

    /// Whether an access point has told of strangers.
    pub fn has_strangers(&self) -> bool {
        self.0.strangers > 0
    }

    /// So many terminals that belong to no group get this much together, as the access point
    /// counts them.
    pub fn set_strangers(&mut self, strangers: u32, rate_bytes_ps: u64) {
        self.0.strangers = strangers.into();
        self.0.stranger_rate = rate_bytes_ps;
    }

    /// The group's recent capacity, in bytes per second.
    pub fn capacity_bytes_ps(&self) -> u64 {
        self.0.capacity
    }
}

impl From<takt_window_group> for Group {
    fn from(sum: takt_window_group) -> Self {
        Self(sum)
    }
}

/// The round trips of one flow in one period.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundTrips(takt_round_trips);

impl RoundTrips {
    /// One was measured; `srtt_us` is the smoothed one. Returns the shortest of a half round trip
    /// that is over.
    pub fn add(&mut self, now_ns: u64, rtt_us: u32, srtt_us: u32) -> Option<u32> {
        // SAFETY: a valid struct.
        let least_us = unsafe { sys::takt_round_trips_add(&mut self.0, now_ns, rtt_us, srtt_us) };
        (least_us > 0).then_some(least_us)
    }

    /// A period is over.
    pub fn forget(&mut self) {
        // SAFETY: a valid struct.
        unsafe { sys::takt_round_trips_forget(&mut self.0) }
    }

    /// Their mean in the period; 0: there was none.
    pub fn mean_us(&self) -> u64 {
        self.0.sum_us / u64::from(self.0.count.max(1))
    }

    /// The mean of the shortest of each half round trip; 0: no half is over.
    pub fn standing_us(&self) -> u64 {
        self.0.stand_sum_us / u64::from(self.0.stand_count.max(1))
    }

    /// Whether a half round trip is over, so that a period can be.
    pub fn is_measured(&self) -> bool {
        self.0.stand_count > 0
    }
}

/// The bounds of a congestion window, in segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds(takt_window_bounds);

impl Bounds {
    /// Bounds from `lower` to `upper`, in segments.
    pub fn new(lower: u32, upper: u32) -> Self {
        Self(takt_window_bounds { lower, upper })
    }

    /// 0: none.
    pub fn lower(&self) -> u32 {
        self.0.lower
    }

    /// The upper bound, in segments.
    pub fn upper(&self) -> u32 {
        self.0.upper
    }

    /// A window cut to them; the lower one does not hold after a timeout.
    pub fn bound(&self, window: u32, after_timeout: bool) -> u32 {
        // SAFETY: a valid struct.
        unsafe { sys::takt_window_bound(&self.0, window, u32::from(after_timeout)) }
    }
}

/// The law's state of one flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flow(takt_window);

impl Flow {
    /// A period is over; returns the bounds for the next.
    pub fn update(
        &mut self,
        terms: &WindowTerms,
        group: &Group,
        sample: &sys::takt_window_sample,
    ) -> Bounds {
        let mut bounds = Bounds::default();
        // SAFETY: valid structs.
        unsafe { sys::takt_window_update(&mut self.0, &terms.0, &group.0, sample, &mut bounds.0) };
        bounds
    }

    /// Whether a flow with these measurements uses all it can get.
    pub fn uses(group: &Group, sample: &sys::takt_window_sample) -> bool {
        // SAFETY: valid structs.
        unsafe { sys::takt_window_uses(&group.0, sample) != 0 }
    }

    /// Half a round trip of a flow in its first slow start is over, with these measurements;
    /// returns its first bounds if slow start is to end.
    pub fn begin(
        &mut self,
        terms: &WindowTerms,
        group: &Group,
        sample: &sys::takt_window_sample,
    ) -> Option<Bounds> {
        let mut bounds = Bounds::default();
        // SAFETY: valid structs.
        unsafe { sys::takt_window_begin(&mut self.0, &terms.0, &group.0, sample, &mut bounds.0) };
        (bounds.upper() > 0).then_some(bounds)
    }

    /// The window that the law aims at, in 1/1024 segments.
    pub fn target_q10(&self) -> u64 {
        self.0.target_q10
    }
}

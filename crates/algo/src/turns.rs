//! `algo/turns.h`.

use crate::sys::{self, takt_exact, takt_turns, takt_turns_params};

/// The member whose turn it is within a task, and the rest of its budget.
#[derive(Clone, Copy)]
pub struct Turns {
    params: takt_turns_params,
    state: takt_turns,
}

impl Turns {
    /// The most members of a group.
    pub const MEMBERS_MAX: u32 = sys::TAKT_MEMBERS_MAX;

    /// A task of 1 to [`Self::MEMBERS_MAX`] members.
    pub fn new(period_ns: u64, budget_ns: u64, member_count: u32) -> Self {
        Self {
            params: takt_turns_params {
                period: takt_exact::new(period_ns, 1),
                budget_ns,
                member_count,
                is_free: 0,
            },
            state: takt_turns::default(),
        }
    }

    /// Another policy, with the same members.
    pub fn set_times(&mut self, period_ns: u64, budget_ns: u64) {
        (self.params.period, self.params.budget_ns) = (takt_exact::new(period_ns, 1), budget_ns);
    }

    /// Another period, of `num / den` nanoseconds.
    pub fn set_period(&mut self, num: u64, den: u32) {
        self.params.period = takt_exact::new(num, den);
    }

    /// The job whose beat is then, counted from 1.
    pub fn job_at(&self, beat_ns: u64) -> u64 {
        // SAFETY: a valid struct; see the crate's documentation.
        unsafe { sys::takt_job_at(&self.params, beat_ns) }
    }

    /// The rest of the job's budget; also 0 when its work is done.
    pub fn left_ns(&self, job: u64) -> u64 {
        // SAFETY: two valid structs; see the crate's documentation.
        unsafe { sys::takt_turns_left(&self.state, &self.params, job) }
    }

    /// A member ran for this long.
    pub fn charge(&mut self, job: u64, ran_ns: u64) {
        // SAFETY: as above.
        unsafe { sys::takt_turns_charge(&mut self.state, job, ran_ns) }
    }

    /// The member whose turn it is has done its work. Returns whether that ends the job.
    pub fn end_turn(&mut self, job: u64) -> bool {
        // SAFETY: as above.
        unsafe { sys::takt_turns_yield(&mut self.state, &self.params, job) != 0 }
    }

    /// Members may choose who goes next, or not.
    pub fn set_free(&mut self, is_free: bool) {
        self.params.is_free = is_free.into();
    }

    /// The member whose turn it is passes it to another one, from 1, or with 0 ends the job.
    /// `waiting` are the members that wait for it, as bits. Returns whether that ends the job.
    pub fn pass(&mut self, job: u64, to: u32, waiting: u32) -> bool {
        // SAFETY: as above.
        unsafe { sys::takt_turns_pass(&mut self.state, &self.params, job, to, waiting) != 0 }
    }

    /// The member that goes, or goes on, next.
    pub fn turn(&self) -> u32 {
        self.state.turn
    }
}

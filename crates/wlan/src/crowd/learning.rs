//! How a terminal learns its group's capacity, and begins with a remembered one.
//!
//! A remembered capacity counts only while a new one is learned, and only up to what present
//! reports confirm: the lower median of the rates of those that share, for each of them. So
//! neither an absurd memory nor a minority of false reports has the law hold (docs/crowd-law.md)
//! more than an honest terminal of the group gets at this moment.

use takt_algo::Group;

/// The capacity follows the group's rate by a sixteenth of the difference in a period
/// (`takt_window_remember`), so it is within a fiftieth of it after so many.
const PERIODS: u32 = 64;

#[derive(Debug, Default)]
pub struct Learning {
    remembered_bytes_ps: u64,
    periods: u32,
}

impl Learning {
    /// With a remembered capacity; 0: there is none.
    pub fn from(remembered_bytes_ps: u64) -> Self {
        Self {
            remembered_bytes_ps,
            periods: 0,
        }
    }

    /// A period is over in which the terminal tested the capacity.
    pub fn test(&mut self) {
        self.periods = self.periods.saturating_add(1);
    }

    /// A period is over. `median_bytes_ps`: of the rates of the terminals that share.
    pub fn period(&self, group: &mut Group, median_bytes_ps: u64) {
        if let Some(remembered_bytes_ps) = self.remembered_bytes_ps() {
            let confirmed_bytes_ps = group.users().saturating_mul(median_bytes_ps);
            group.raise_capacity(remembered_bytes_ps.min(confirmed_bytes_ps));
        }
    }

    /// Whether the capacity is learned.
    pub fn is_over(&self) -> bool {
        self.periods >= PERIODS
    }

    pub fn remembered_bytes_ps(&self) -> Option<u64> {
        let counts = self.remembered_bytes_ps > 0 && !self.is_over();
        counts.then_some(self.remembered_bytes_ps)
    }
}

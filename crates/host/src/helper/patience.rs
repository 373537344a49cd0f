//! When to retry what a link did not accept.

use std::time::{Duration, Instant};

use nix::sys::epoll::EpollTimeout;

const SHORTEST: Duration = Duration::from_millis(10);
/// A device may be down or without a carrier for days.
const LONGEST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Patience {
    again: Option<Instant>,
    wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            again: None,
            wait: SHORTEST,
        }
    }
}

impl Patience {
    /// It succeeded.
    pub fn succeed(&mut self) {
        *self = Self::default();
    }

    /// It failed for a reason that soon passes.
    pub fn wait_shortly(&mut self) {
        self.again = Some(Instant::now() + SHORTEST);
    }

    /// It failed: the delay grows each time.
    pub fn wait(&mut self) {
        self.again = Some(Instant::now() + self.wait);
        self.wait = LONGEST.min(2 * self.wait);
    }

    /// The next attempt is likely to succeed: make it now.
    pub fn end(&mut self) {
        self.again = None;
    }

    pub fn waits(&self) -> bool {
        self.again.is_some()
    }

    pub fn is_over(&self, now: Instant) -> bool {
        self.again.is_some_and(|again| again <= now)
    }

    /// The timeout of epoll until the first of these is due.
    pub fn of_all<'a>(all: impl Iterator<Item = &'a Self>, now: Instant) -> EpollTimeout {
        let first = all.filter_map(|patience| patience.again).min();
        first.map_or(EpollTimeout::NONE, |first| {
            // Round up, or epoll would have to wait once more.
            let wait = first.saturating_duration_since(now) + Duration::from_millis(1);
            EpollTimeout::try_from(wait).unwrap_or(EpollTimeout::MAX)
        })
    }
}

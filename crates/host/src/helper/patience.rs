//! When to try again what a link did not take.

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
    /// It worked.
    pub fn succeed(&mut self) {
        *self = Self::default();
    }

    /// It did not work, and what stands in the way soon passes.
    pub fn wait_shortly(&mut self) {
        self.again = Some(Instant::now() + SHORTEST);
    }

    /// It did not work: longer each time.
    pub fn wait(&mut self) {
        self.again = Some(Instant::now() + self.wait);
        self.wait = LONGEST.min(2 * self.wait);
    }

    /// Somebody knows that it is worth a try now.
    pub fn end(&mut self) {
        self.again = None;
    }

    pub fn waits(&self) -> bool {
        self.again.is_some()
    }

    pub fn is_over(&self, now: Instant) -> bool {
        self.again.is_some_and(|again| again <= now)
    }

    /// What epoll is to wait for the first of these.
    pub fn of_all<'a>(all: impl Iterator<Item = &'a Self>, now: Instant) -> EpollTimeout {
        let first = all.filter_map(|patience| patience.again).min();
        first.map_or(EpollTimeout::NONE, |first| {
            // Not a moment too early, or it would have to wait once more.
            let wait = first.saturating_duration_since(now) + Duration::from_millis(1);
            EpollTimeout::try_from(wait).unwrap_or(EpollTimeout::MAX)
        })
    }
}

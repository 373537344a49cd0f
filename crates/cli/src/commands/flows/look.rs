//! Looks at TCP flows again and again, none of them more expensive than it has to be.

use std::time::{Duration, Instant};

use takt_flows::{Seen, Survey};
use takt_host::{Error, Monitor};

/// The shortest time between two looks for flows without packets.
const SEARCH_EVERY: Duration = Duration::from_secs(1);

pub struct Look {
    monitor: Monitor,
    survey: Survey,
    /// When all flows were last looked for.
    searched: Option<Instant>,
}

impl Look {
    pub fn open() -> Result<Self, Error> {
        Self::with(Monitor::open()?)
    }

    pub fn with(monitor: Monitor) -> Result<Self, Error> {
        monitor.survey()?;
        Ok(Self {
            monitor,
            survey: Survey::default(),
            searched: None,
        })
    }

    pub fn take(&mut self) -> Result<Vec<Seen>, Error> {
        let seen = self.flows()?;
        if self.survey.is_due(&seen) {
            self.monitor.survey()?;
        }
        Ok(seen)
    }

    fn flows(&mut self) -> Result<Vec<Seen>, Error> {
        let is_due = |searched: Instant| searched.elapsed() >= SEARCH_EVERY;
        if self.searched.is_none_or(is_due) {
            self.searched = Some(Instant::now());
            return self.monitor.flows();
        }
        self.monitor.known_flows()
    }
}

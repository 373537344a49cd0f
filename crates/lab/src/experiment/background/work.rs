//! The processor's work over a span of time.

use std::path::Path;

use super::far_end::FarEnd;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::load::Idle;

const STATISTICS: &str = "/proc/stat";
/// Observations that measure the cost of an observation.
const REHEARSALS: usize = 9;

/// The whole machine's, which is also the far end of the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Busy nanoseconds of the virtual clock.
    pub instructions: u64,
    /// Of tasks.
    pub switches: u64,
    /// Of the processor, from idleness.
    pub wakeups: u64,
    /// Time of the far end's threads: instructions that a host does not execute.
    pub far_end_ns: u64,
}

impl std::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            instructions: self.instructions + other.instructions,
            switches: self.switches + other.switches,
            wakeups: self.wakeups + other.wakeups,
            far_end_ns: self.far_end_ns + other.far_end_ns,
        }
    }
}

/// All counters at one instant.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    idle: Idle,
    switches: u64,
    far_end_ns: u64,
}

/// Reads the counters, and knows the cost of reading them.
pub struct Observer {
    own: Work,
    far_end: FarEnd,
}

impl Observer {
    /// To be called while nothing else happens.
    pub fn new(far_end: FarEnd) -> Result<Self> {
        let mut observer = Self {
            own: Work::default(),
            far_end,
        };
        let moments = (0..=REHEARSALS)
            .map(|_| observer.now())
            .collect::<Result<Vec<_>>>()?;
        let mut costs: Vec<Work> = moments
            .windows(2)
            .map(|pair| pair[1].since(&pair[0]))
            .collect();
        costs.sort_unstable_by_key(|cost| cost.instructions);
        observer.own = costs[REHEARSALS / 2];
        Ok(observer)
    }

    pub fn now(&self) -> Result<Moment> {
        let unreadable = |reason: String| ExperimentError::Unreadable {
            path: Path::new(STATISTICS).to_owned(),
            reason,
        };
        let statistics =
            std::fs::read_to_string(STATISTICS).map_err(|error| unreadable(error.to_string()))?;
        Ok(Moment {
            switches: switches(&statistics)
                .ok_or_else(|| unreadable("no line ctxt in it".into()))?,
            far_end_ns: self.far_end.ran_ns()?,
            idle: Idle::now()?,
        })
    }

    /// Work between two moments, without the cost of observing.
    pub fn between(&self, earlier: &Moment, later: &Moment) -> Work {
        let whole = later.since(earlier);
        Work {
            instructions: whole.instructions.saturating_sub(self.own.instructions),
            switches: whole.switches.saturating_sub(self.own.switches),
            ..whole
        }
    }
}

impl Moment {
    fn since(&self, earlier: &Self) -> Work {
        let busy = self.idle.since(&earlier.idle);
        Work {
            instructions: busy.busy.as_nanos() as u64,
            switches: self.switches - earlier.switches,
            wakeups: busy.idle_entries,
            // A server's thread that has ended is not counted any more.
            far_end_ns: self.far_end_ns.saturating_sub(earlier.far_end_ns),
        }
    }
}

fn switches(statistics: &str) -> Option<u64> {
    let line = statistics
        .lines()
        .find_map(|line| line.strip_prefix("ctxt "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_those_of_the_machine() {
        let statistics = "cpu  1 2 3\nintr 5 6\nctxt 1713\nbtime 9\n";
        assert_eq!(switches(statistics), Some(1713));
        assert_eq!(switches("cpu 1\n"), None);
    }
}

//! The processor's work over a span of time.

use std::path::Path;
use std::time::Duration;

use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::load::Idle;

const STATISTICS: &str = "/proc/stat";
/// Observations that measure the cost of an observation.
const REHEARSALS: usize = 9;

/// Instructions (busy nanoseconds of the virtual clock) and task switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    pub instructions: u64,
    pub switches: u64,
}

/// Both counters at one instant.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    idle: Idle,
    switches: u64,
}

/// Reads the counters, and knows the cost of reading them.
pub struct Observer {
    own: Work,
}

impl Observer {
    /// To be called while nothing else happens.
    pub fn new() -> Result<Self> {
        let moments = (0..=REHEARSALS)
            .map(|_| Moment::now())
            .collect::<Result<Vec<_>>>()?;
        let mut costs: Vec<Work> = moments
            .windows(2)
            .map(|pair| pair[1].since(&pair[0]))
            .collect();
        costs.sort_unstable_by_key(|cost| cost.instructions);
        Ok(Self {
            own: costs[REHEARSALS / 2],
        })
    }

    /// Work between two moments, without the cost of observing.
    pub fn between(&self, earlier: &Moment, later: &Moment) -> Work {
        let whole = later.since(earlier);
        Work {
            instructions: whole.instructions.saturating_sub(self.own.instructions),
            switches: whole.switches.saturating_sub(self.own.switches),
        }
    }
}

impl Moment {
    pub fn now() -> Result<Self> {
        let unreadable = |reason: String| ExperimentError::Unreadable {
            path: Path::new(STATISTICS).to_owned(),
            reason,
        };
        let statistics =
            std::fs::read_to_string(STATISTICS).map_err(|error| unreadable(error.to_string()))?;
        Ok(Self {
            switches: switches(&statistics)
                .ok_or_else(|| unreadable("no line ctxt in it".into()))?,
            idle: Idle::now()?,
        })
    }

    fn since(&self, earlier: &Self) -> Work {
        let busy: Duration = self.idle.since(&earlier.idle).busy;
        Work {
            instructions: busy.as_nanos() as u64,
            switches: self.switches - earlier.switches,
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

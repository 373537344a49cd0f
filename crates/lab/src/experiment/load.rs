//! The machine's idle time.

use std::path::Path;
use std::time::{Duration, Instant};

use super::error::{ExperimentError, Result};

/// `/proc/stat` counts idle time in hundredths of a second; the timer list has
/// the same counter in nanoseconds.
const TIMER_LIST: &str = "/proc/timer_list";

/// The machine's idle clock at one instant.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    at: Instant,
    /// Mean over the processors.
    idle_ns: u64,
}

impl Idle {
    pub fn now() -> Result<Self> {
        let unreadable = |reason: String| ExperimentError::Unreadable {
            path: Path::new(TIMER_LIST).to_owned(),
            reason,
        };
        let at = Instant::now();
        let timers =
            std::fs::read_to_string(TIMER_LIST).map_err(|error| unreadable(error.to_string()))?;
        let idle_ns = mean_idle_ns(&timers)
            .ok_or_else(|| unreadable("no idle time in it; it needs a tickless kernel".into()))?;
        Ok(Self { at, idle_ns })
    }

    /// Time the processors worked since `earlier`, and its length.
    pub fn since(&self, earlier: &Self) -> Busy {
        let elapsed = self.at - earlier.at;
        let idle = Duration::from_nanos(self.idle_ns.saturating_sub(earlier.idle_ns));
        Busy {
            elapsed,
            busy: elapsed.saturating_sub(idle),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Busy {
    pub elapsed: Duration,
    pub busy: Duration,
}

impl Busy {
    pub fn idle_share_percent(&self) -> f64 {
        100.0 * (1.0 - self.busy.as_secs_f64() / self.elapsed.as_secs_f64())
    }
}

fn mean_idle_ns(timer_list: &str) -> Option<u64> {
    let idle: Vec<u64> = timer_list
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(".idle_sleeptime"))
        .filter_map(|rest| {
            rest.trim_start_matches([' ', ':'])
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .collect();
    idle.iter().sum::<u64>().checked_div(idle.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_the_mean_over_processors() {
        let list = "cpu: 0\n  .idle_sleeptime : 1000 nsecs\n  .last_jiffies   : 7\n\
                    cpu: 1\n  .idle_sleeptime : 3000 nsecs\n";
        assert_eq!(mean_idle_ns(list), Some(2000));
        assert_eq!(mean_idle_ns("no such line"), None);
    }
}

//! The machine's idle time, its wake-ups, and the interrupts of its timers.

use std::path::Path;
use std::time::{Duration, Instant};

use super::error::{ExperimentError, Result};

/// `/proc/stat` counts idle time in hundredths of a second; the timer list has
/// the same counter in nanoseconds, and counts the interrupts of timers and the wake-ups.
const TIMER_LIST: &str = "/proc/timer_list";
const IDLE_NS: &str = ".idle_sleeptime";
const TIMER_INTERRUPTS: &str = ".nr_events";
/// Times that a processor had nothing left to do.
const IDLE_ENTRIES: &str = ".idle_calls";

/// The machine's idle clock at one instant.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    at: Instant,
    /// Mean over the processors.
    idle_ns: u64,
    timer_interrupts: u64,
    idle_entries: u64,
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
        Ok(Self {
            at,
            idle_ns,
            timer_interrupts: of_processors(&timers, TIMER_INTERRUPTS).iter().sum(),
            idle_entries: of_processors(&timers, IDLE_ENTRIES).iter().sum(),
        })
    }

    /// Time the processors worked since `earlier`, and its length.
    pub fn since(&self, earlier: &Self) -> Busy {
        let elapsed = self.at - earlier.at;
        let idle = Duration::from_nanos(self.idle_ns.saturating_sub(earlier.idle_ns));
        Busy {
            elapsed,
            busy: elapsed.saturating_sub(idle),
            timer_interrupts: self
                .timer_interrupts
                .saturating_sub(earlier.timer_interrupts),
            idle_entries: self.idle_entries.saturating_sub(earlier.idle_entries),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Busy {
    pub elapsed: Duration,
    pub busy: Duration,
    /// Of all processors.
    pub timer_interrupts: u64,
    /// Likewise; each is followed by a wake-up.
    pub idle_entries: u64,
}

impl Busy {
    pub fn interrupts_per_packet(&self, packets: u64) -> Option<f64> {
        (packets > 0).then(|| self.timer_interrupts as f64 / packets as f64)
    }

    pub fn idle_share_percent(&self) -> f64 {
        100.0 * (1.0 - self.busy.as_secs_f64() / self.elapsed.as_secs_f64())
    }
}

fn mean_idle_ns(timer_list: &str) -> Option<u64> {
    let idle = of_processors(timer_list, IDLE_NS);
    idle.iter().sum::<u64>().checked_div(idle.len() as u64)
}

/// A counter of each processor.
fn of_processors(timer_list: &str, counter: &str) -> Vec<u64> {
    { timer_list.lines() }
        .filter_map(|line| line.trim_start().strip_prefix(counter))
        .filter_map(|rest| {
            let rest = rest.trim_start_matches([' ', ':']);
            rest.split_whitespace().next()?.parse().ok()
        })
        .collect()
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

    #[test]
    fn interrupts_are_counted_on_each_processor() {
        let list = "cpu: 0\n  .nr_events      : 17\n  .nr_retries     : 1\ncpu: 1\n  .nr_events      : 3\n";
        assert_eq!(of_processors(list, TIMER_INTERRUPTS), [17, 3]);
    }
}

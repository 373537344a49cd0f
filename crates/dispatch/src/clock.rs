//! The clock from whose zero periods are counted.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use takt_policy::BeatsClock;

#[derive(Debug, Clone, Copy)]
pub struct Clock(ClockId);

impl Clock {
    /// What job pages count in.
    pub const MONOTONIC: Clock = Clock(ClockId::CLOCK_MONOTONIC);

    pub fn new(clock: BeatsClock) -> Clock {
        match clock {
            BeatsClock::Monotonic => Clock::MONOTONIC,
            BeatsClock::Tai => Clock(ClockId::CLOCK_TAI),
        }
    }

    pub fn now_ns(self) -> u64 {
        // The kernel has both clocks, so it does not fail.
        clock_gettime(self.0).map_or(0, |now| {
            now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
        })
    }

    /// Returns at that time, or earlier at a signal or when the clock was set.
    pub fn sleep_until(self, time_ns: u64) {
        let until = TimeSpec::new(
            (time_ns / 1_000_000_000) as i64,
            (time_ns % 1_000_000_000) as i64,
        );
        // The loop around it looks at the clock again, whatever ended the sleep.
        let _ = clock_nanosleep(self.0, ClockNanosleepFlags::TIMER_ABSTIME, &until);
    }
}

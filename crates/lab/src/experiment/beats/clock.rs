//! The clock of all periods: CLOCK_MONOTONIC.

use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

const CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

/// Nanoseconds since the clock's zero. The kernel always has this clock.
pub fn now_ns() -> u64 {
    clock_gettime(CLOCK).map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    })
}

/// Sleeps until this time, and not at all if it has passed.
pub fn sleep_until(at_ns: u64) {
    let at = TimeSpec::new(
        (at_ns / 1_000_000_000) as i64,
        (at_ns % 1_000_000_000) as i64,
    );
    // The kernel would put the thread to sleep even for a time that has passed.
    if now_ns() >= at_ns {
        return;
    }
    // An absolute time does not shift when a signal interrupts the sleep.
    while clock_nanosleep(CLOCK, ClockNanosleepFlags::TIMER_ABSTIME, &at) == Err(Errno::EINTR) {}
}

/// Strictly periodic moments: `phase_ns` after every multiple of `period_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rhythm {
    pub period_ns: u64,
    pub phase_ns: u64,
}

impl Rhythm {
    /// The first beat later than `now_ns`.
    pub fn next_after(self, now_ns: u64) -> u64 {
        match now_ns.checked_sub(self.phase_ns) {
            Some(since) => (since / self.period_ns + 1) * self.period_ns + self.phase_ns,
            None => self.phase_ns,
        }
    }

    /// Beats from `begin_ns` to just before `end_ns`.
    pub fn count(self, begin_ns: u64, end_ns: u64) -> u64 {
        let before = |at_ns: u64| {
            (at_ns + self.period_ns - 1).saturating_sub(self.phase_ns) / self.period_ns
        };
        before(end_ns) - before(begin_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RHYTHM: Rhythm = Rhythm {
        period_ns: 40,
        phase_ns: 9,
    };

    #[test]
    fn the_next_beat_is_later() {
        let next = [0, 8, 9, 48, 49, 50].map(|now| RHYTHM.next_after(now));
        assert_eq!(next, [9, 9, 49, 49, 89, 89]);
    }

    #[test]
    fn beats_are_counted_with_the_first_moment_and_without_the_last() {
        assert_eq!(RHYTHM.count(0, 9), 0);
        assert_eq!(RHYTHM.count(0, 10), 1);
        assert_eq!(RHYTHM.count(9, 89), 2);
        assert_eq!(RHYTHM.count(10, 90), 2);
    }
}

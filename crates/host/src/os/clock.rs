//! Clocks: the one that BPF programs use, the one that includes suspend, and atomic time.

use std::{ops::RangeInclusive, time::Duration};

use nix::time::{ClockId, clock_gettime};

pub(crate) fn monotonic_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// Includes suspended time.
pub(crate) fn boottime_ns() -> u64 {
    read_ns(ClockId::CLOCK_BOOTTIME)
}

/// Readings of CLOCK_TAI between two of CLOCK_MONOTONIC: their difference lies between the two.
const READINGS: u32 = 32;
/// Rounds of readings, of which one in which the clock is set finds no difference.
const ROUNDS: u32 = 3;

/// How far CLOCK_TAI is ahead of CLOCK_MONOTONIC. Both run equally fast, and the difference is
/// constant until CLOCK_TAI is set.
pub(crate) fn tai_ahead_ns() -> RangeInclusive<u64> {
    let mut ahead_ns = 0..=0;
    for _ in 0..ROUNDS {
        ahead_ns = 0..=u64::MAX;
        for _ in 0..READINGS {
            let before_ns = monotonic_ns();
            let tai_ns = read_ns(ClockId::CLOCK_TAI);
            let after_ns = monotonic_ns();
            ahead_ns = *ahead_ns.start().max(&tai_ns.saturating_sub(after_ns))
                ..=*ahead_ns.end().min(&tai_ns.saturating_sub(before_ns));
        }
        if !ahead_ns.is_empty() {
            return ahead_ns;
        }
    }
    *ahead_ns.end()..=*ahead_ns.end()
}

/// How far CLOCK_TAI is ahead of CLOCK_REALTIME, which is UTC; 0 until a program, such as ptp4l
/// or chronyd, has told the kernel.
pub(crate) fn tai_offset_s() -> u64 {
    let utc_ns = read_ns(ClockId::CLOCK_REALTIME);
    (read_ns(ClockId::CLOCK_TAI).saturating_sub(utc_ns) + 500_000_000) / 1_000_000_000
}

fn read_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    now.as_nanos().try_into().unwrap_or(u64::MAX)
}

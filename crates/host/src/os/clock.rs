//! Clocks: the one that BPF programs use, and the one that includes suspend.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

pub(crate) fn monotonic_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// Includes suspended time.
pub(crate) fn boottime_ns() -> u64 {
    read_ns(ClockId::CLOCK_BOOTTIME)
}

fn read_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    now.as_nanos().try_into().unwrap_or(u64::MAX)
}

//! The clock that BPF programs count by.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    now.as_nanos().try_into().unwrap_or(u64::MAX)
}

//! The moment that is the simulator's zero, for all senders of a case.

use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::traffic::receive_clock_ns;

/// Whole steps of it have the same distance to the kernel's ticks in all cases of a run.
const STEP_NS: u64 = 100_000_000;
/// Time for sockets, and for connections that are made one after the other over the round trip.
const AHEAD_NS: u64 = 3 * STEP_NS;

/// A moment that is soon, by the clock of arrivals.
pub fn soon_ns() -> Result<u64> {
    Ok((receive_clock_ns()? + AHEAD_NS).next_multiple_of(STEP_NS))
}

/// By that clock.
pub fn sleep_until(at_ns: u64) -> Result<()> {
    const CLOCK: ClockId = ClockId::CLOCK_REALTIME;
    let at = TimeSpec::new(
        (at_ns / 1_000_000_000) as i64,
        (at_ns % 1_000_000_000) as i64,
    );
    loop {
        match clock_nanosleep(CLOCK, ClockNanosleepFlags::TIMER_ABSTIME, &at) {
            Err(Errno::EINTR) => {}
            result => return result.map(drop).doing("sleep"),
        }
    }
}

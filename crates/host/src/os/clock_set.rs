//! Notifications that CLOCK_REALTIME was set, and CLOCK_TAI with it.

use std::{
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::{
        time::TimeSpec,
        timer::{Expiration, TimerSetTimeFlags},
        timerfd::{ClockId, TimerFd, TimerFlags},
    },
};

/// A time that no clock reaches: the timer is there to be cancelled.
const NEVER: Duration = Duration::from_secs(i32::MAX as u64 * 1000);

pub(crate) struct ClockSet(TimerFd);

impl ClockSet {
    /// From now on.
    pub fn open() -> nix::Result<Self> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_REALTIME, flags)?;
        timer.set(
            Expiration::OneShot(TimeSpec::from_duration(NEVER)),
            TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET,
        )?;
        Ok(Self(timer))
    }

    /// Whether it was set since the last call.
    pub fn take(&self) -> bool {
        self.0.wait() == Err(Errno::ECANCELED)
    }
}

impl AsFd for ClockSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

//! The end of a recording or live view: Ctrl-C, or a duration.

use std::{
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
};

pub struct Ending {
    signals: SignalFd,
    at: Option<Instant>,
}

impl Ending {
    pub fn after(duration: Option<Duration>) -> nix::Result<Self> {
        let asked = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        asked.thread_block()?;
        Ok(Self {
            signals: SignalFd::with_flags(&asked, SfdFlags::SFD_CLOEXEC)?,
            at: duration.and_then(|duration| Instant::now().checked_add(duration)),
        })
    }

    /// Waits until then; returns whether the end has come first.
    pub fn comes_before(&self, then: Instant) -> nix::Result<bool> {
        let until = self.at.map_or(then, |at| at.min(then));
        loop {
            let now = Instant::now();
            if now >= until {
                return Ok(self.at.is_some_and(|at| now >= at));
            }
            let mut fds = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            // Rounded up, or the last millisecond would be spent polling.
            let wait = (until - now) + Duration::from_millis(1);
            match poll(
                &mut fds,
                PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX),
            ) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }
}

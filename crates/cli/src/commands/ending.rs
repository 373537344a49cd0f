//! The end of a command that goes on: Ctrl-C and its like, or a duration.

use std::{
    os::fd::{AsFd, BorrowedFd},
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

/// What came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    End,
    /// Input to read, or its end.
    Input,
    Time,
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
        self.wait(then, None).map(|came| came == Came::End)
    }

    /// Waits until then, or for input.
    pub fn or_input(&self, then: Instant, input: BorrowedFd) -> nix::Result<Came> {
        self.wait(then, Some(input))
    }

    fn wait(&self, then: Instant, input: Option<BorrowedFd>) -> nix::Result<Came> {
        let until = self.at.map_or(then, |at| at.min(then));
        loop {
            let now = Instant::now();
            if now >= until {
                let is_over = self.at.is_some_and(|at| now >= at);
                return Ok(if is_over { Came::End } else { Came::Time });
            }
            let to_read = |fd| PollFd::new(fd, PollFlags::POLLIN);
            let mut fds = vec![to_read(self.signals.as_fd())];
            fds.extend(input.map(to_read));
            // Rounded up, or the last millisecond would be spent polling.
            let wait = (until - now) + Duration::from_millis(1);
            match poll(
                &mut fds,
                PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX),
            ) {
                Ok(0) => {}
                // A terminal changed its size.
                Err(Errno::EINTR) if input.is_some() => return Ok(Came::Input),
                Err(Errno::EINTR) => {}
                Ok(_) if fds[0].any() == Some(true) => return Ok(Came::End),
                // The terminal is gone, and sends no signal if it is not this session's.
                Ok(_) if hung_up(&fds[1..]) => return Ok(Came::End),
                Ok(_) => return Ok(Came::Input),
                Err(error) => return Err(error),
            }
        }
    }
}

fn hung_up(fds: &[PollFd]) -> bool {
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    let came = fds.iter().filter_map(PollFd::revents);
    came.into_iter().any(|events| events.intersects(gone))
}

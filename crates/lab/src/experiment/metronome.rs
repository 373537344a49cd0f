//! A sender that keeps the pace itself, one packet at each tick of a timer.
//!
//! It is what a packet that waits is compared with: where a scheduler's timer
//! lets a packet out, which wakes the sender, which sends the next one, here a
//! timer wakes the sender, which sends a packet that leaves at once. One timer,
//! one task switch and one packet each, and no scheduler.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::error::{Result, WhileDoing};
use super::shape::Shape;
use super::source::{self, Source};

pub struct Metronome {
    epoll: Epoll,
    /// Ticks for as long as it is open.
    _timer: TimerFd,
    sources: Vec<Source>,
    next: usize,
    payload: Vec<u8>,
}

impl Metronome {
    /// The sources send in turn, a packet every `tick`.
    pub fn new(shape: &Shape, sources: Vec<Source>, tick: Duration) -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("create an epoll")?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK)
            .doing("create a timer")?;
        timer
            .set(
                Expiration::Interval(TimeSpec::from(tick)),
                TimerSetTimeFlags::empty(),
            )
            .doing("set a timer")?;
        // Edge-triggered: ticks need not be read, as writable sockets are not.
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0);
        epoll.add(&timer, event).doing("watch a timer")?;
        Ok(Self {
            epoll,
            _timer: timer,
            sources,
            next: 0,
            payload: source::payload(shape.packet_bytes),
        })
    }

    pub fn pump(&mut self, duration: Duration) -> Result<()> {
        let started = Instant::now();
        let mut events = [EpollEvent::empty(); 64];
        while started.elapsed() < duration {
            match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(_) => {
                    self.sources[self.next].send(&mut self.payload)?;
                    self.next = (self.next + 1) % self.sources.len();
                }
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno).doing("wait for a timer"),
            }
        }
        Ok(())
    }
}

//! A sender that keeps the pace itself, one packet at each tick of a timer.
//!
//! The reference for a packet that waits. There a scheduler's timer releases a packet, which
//! wakes the sender, which sends the next one. Here a timer wakes the sender, which sends a
//! packet that leaves at once. One timer, one task switch and one packet each, and no
//! scheduler.

use std::time::{Duration, Instant};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::error::{Result, WhileDoing};
use super::shape::Shape;
use super::source::{self, Source};

/// A timer that expires every `tick`.
pub fn ticking(tick: Duration) -> Result<TimerFd> {
    let timer =
        TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC).doing("create a timer")?;
    let every = Expiration::Interval(TimeSpec::from(tick));
    timer
        .set(every, TimerSetTimeFlags::empty())
        .doing("set a timer")?;
    Ok(timer)
}

pub struct Metronome {
    timer: TimerFd,
    sources: Vec<Source>,
    next: usize,
    payload: Vec<u8>,
}

impl Metronome {
    /// The sources send in turn, a packet every `tick`.
    pub fn new(shape: &Shape, sources: Vec<Source>, tick: Duration) -> Result<Self> {
        Ok(Self {
            timer: ticking(tick)?,
            sources,
            next: 0,
            payload: source::payload(shape.packet_bytes),
        })
    }

    pub fn pump(&mut self, duration: Duration) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < duration {
            self.timer.wait().doing("wait for a timer")?;
            self.sources[self.next].send(&mut self.payload)?;
            self.next = (self.next + 1) % self.sources.len();
        }
        Ok(())
    }
}

//! The network device: it takes a few frames and puts one after the other on the wire.
//!
//! Like a driver with byte queue limits it stops the queue when it is full, and asks for more when a
//! frame has left after that. While it is not full, only the qdisc's timer or another packet makes
//! it ask.

use std::collections::VecDeque;

use takt_algo::{ByteClock, sys::takt_framing};
use takt_policy::Framing;

/// A device with its wire.
pub(crate) struct Wire {
    clock: ByteClock,
    framing: takt_framing,
    frames_max: usize,
    /// When each of its frames will have left.
    ends_ns: VecDeque<u64>,
    is_stopped: bool,
}

/// When a frame is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub start_ns: u64,
    pub end_ns: u64,
}

impl Wire {
    pub fn new(rate_bps: u64, framing: Framing, frames_max: u32) -> Self {
        Self {
            clock: ByteClock::new(rate_bps, u64::MAX),
            framing: takt_planner::framing(framing),
            frames_max: frames_max as usize,
            ends_ns: VecDeque::with_capacity(frames_max as usize),
            is_stopped: false,
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// A frame's bytes on the wire.
    pub fn bytes(&self, frame_bytes: u32) -> u32 {
        self.framing.frame_bytes(frame_bytes)
    }

    /// Takes a frame of so many bytes on the wire. Precondition: it is not stopped.
    pub fn take(&mut self, wire_bytes: u32, now_ns: u64) -> Slot {
        self.clock.start(now_ns);
        let start_ns = self.clock.due_ns();
        self.clock.spend(0, now_ns, wire_bytes.into());
        let end_ns = self.clock.due_ns();
        self.ends_ns.push_back(end_ns);
        self.is_stopped = self.ends_ns.len() >= self.frames_max;
        Slot { start_ns, end_ns }
    }

    /// When a frame leaves it next; `u64::MAX` if there is none.
    pub fn next_ns(&self) -> u64 {
        self.ends_ns.front().copied().unwrap_or(u64::MAX)
    }

    /// Its first frame has left. Returns whether it asks for more.
    pub fn complete(&mut self) -> bool {
        self.ends_ns.pop_front();
        std::mem::take(&mut self.is_stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_without_a_gap_and_without_drift() {
        let mut wire = Wire::new(7_000_000_000, Framing::default(), 1);
        let mut before_ns = 1_000;
        for _ in 0..7_000_000 {
            let slot = wire.take(875, before_ns);
            assert_eq!(slot.start_ns, before_ns);
            before_ns = wire.next_ns();
            assert!(wire.complete());
        }
        // 875 bytes take a whole microsecond at 7 Gbit/s.
        assert_eq!(before_ns, 1_000 + 7_000_000 * 1_000);
    }

    #[test]
    fn it_stops_when_it_is_full() {
        let mut wire = Wire::new(1_000_000_000, Framing::default(), 2);
        wire.take(1000, 0);
        assert!(!wire.is_stopped());
        let second = wire.take(1000, 0);
        assert!(wire.is_stopped());
        assert_eq!((second.start_ns, second.end_ns), (8_000, 16_000));
        assert!(wire.complete());
        assert!(!wire.complete());
        assert_eq!(wire.next_ns(), u64::MAX);
    }
}

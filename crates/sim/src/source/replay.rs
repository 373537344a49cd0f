//! A flow of a capture, whose packets come when they were captured.

use std::sync::Arc;

use super::Poll;
use crate::capture::Arrival;

#[derive(Debug)]
pub(crate) struct Replay {
    arrivals: Arc<[Arrival]>,
    start_ns: u64,
    next: usize,
}

impl Replay {
    /// The capture's first packet comes at the start.
    pub fn new(arrivals: Arc<[Arrival]>, start_ns: u64) -> Self {
        Self {
            arrivals,
            start_ns,
            next: 0,
        }
    }

    pub fn poll(&mut self, now_ns: u64) -> Poll {
        let Some(arrival) = self.arrivals.get(self.next) else {
            return Poll::Nothing;
        };
        let due_ns = self.start_ns + arrival.at_ns;
        if now_ns < due_ns {
            return Poll::At(due_ns);
        }
        self.next += 1;
        Poll::Send(self.next as u64 - 1)
    }

    /// The frame of the packet with this number, which it has sent.
    pub fn frame_bytes(&self, number: u64) -> u32 {
        self.arrivals[number as usize].bytes
    }
}

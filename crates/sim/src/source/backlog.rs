//! A sender that always has so many packets queued, like a program that writes to a socket with a
//! send buffer of that size.

use super::Poll;

/// A sender whose packet was dropped writes again after this.
const RETRY_NS: u64 = 1_000_000;

#[derive(Debug)]
pub(crate) struct Backlog {
    packets: u32,
    queued: u32,
    number: u64,
    not_before_ns: u64,
}

impl Backlog {
    pub fn new(packets: u32, start_ns: u64) -> Self {
        Self {
            packets,
            queued: 0,
            number: 0,
            not_before_ns: start_ns,
        }
    }

    pub fn poll(&mut self, now_ns: u64) -> Poll {
        if self.queued >= self.packets {
            return Poll::Nothing;
        }
        if now_ns < self.not_before_ns {
            return Poll::At(self.not_before_ns);
        }
        self.queued += 1;
        self.number += 1;
        Poll::Send(self.number - 1)
    }

    pub fn left(&mut self) {
        self.queued -= 1;
    }

    pub fn lost(&mut self, now_ns: u64) -> u64 {
        self.queued -= 1;
        self.not_before_ns = now_ns + RETRY_NS;
        self.not_before_ns
    }
}

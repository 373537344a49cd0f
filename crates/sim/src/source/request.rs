//! Requests, each of one packet, that another host answers.

use super::Poll;
use crate::random::Random;

/// A request that was lost on this host is sent again after this, as TCP does (RFC 6298).
const RETRY_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct Request {
    rtt_ns: u64,
    think_ns: u64,
    due_ns: Option<u64>,
    number: u64,
    random: Random,
}

impl Request {
    pub fn new(rtt_ns: u64, think_ns: u64, start_ns: u64, mut random: Random) -> Self {
        Self {
            rtt_ns,
            think_ns,
            due_ns: Some(start_ns + random.exponential_ns(think_ns)),
            number: 0,
            random,
        }
    }

    pub fn poll(&mut self, now_ns: u64) -> Poll {
        match self.due_ns {
            Some(due_ns) if due_ns <= now_ns => {
                self.due_ns = None;
                self.number += 1;
                Poll::Send(self.number - 1)
            }
            Some(due_ns) => Poll::At(due_ns),
            None => Poll::Nothing,
        }
    }

    /// When the answer to a request comes that is on the wire until then.
    pub fn answered_ns(&self, end_ns: u64) -> u64 {
        end_ns + self.rtt_ns
    }

    pub fn answered(&mut self, now_ns: u64) {
        self.due_ns = Some(now_ns + self.random.exponential_ns(self.think_ns));
    }

    pub fn lost(&mut self, now_ns: u64) -> u64 {
        *self.due_ns.insert(now_ns + RETRY_NS)
    }
}

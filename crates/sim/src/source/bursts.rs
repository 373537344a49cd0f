//! Packets at equal distances in periods of sending, with pauses between them. Periods of Pareto's
//! distribution make traffic of many flows self-similar (Willinger et al., SIGCOMM '95).

use super::Poll;
use crate::random::Random;

const NS_PER_BYTE_AT_1BPS: u64 = 8_000_000_000;

/// How long periods and pauses are, in the mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub on_ns: u64,
    pub off_ns: u64,
    /// Of Pareto's distribution; `None`: exponential.
    pub shape_milli: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Bursts {
    lengths: Lengths,
    gap_ns: u64,
    due_ns: u64,
    /// The present period's end.
    until_ns: u64,
    number: u64,
    random: Random,
}

impl Bursts {
    /// Begins with a pause.
    pub fn new(
        rate_bps: u64,
        wire_bytes: u32,
        start_ns: u64,
        lengths: Lengths,
        random: Random,
    ) -> Self {
        let mut bursts = Self {
            lengths,
            gap_ns: (u64::from(wire_bytes) * NS_PER_BYTE_AT_1BPS / rate_bps).max(1),
            due_ns: start_ns,
            until_ns: start_ns,
            number: 0,
            random,
        };
        bursts.pause();
        bursts
    }

    /// The period is over: pause, and draw the next one.
    fn pause(&mut self) {
        let Lengths {
            on_ns,
            off_ns,
            shape_milli,
        } = self.lengths;
        self.due_ns = self.until_ns + self.random.exponential_ns(off_ns);
        let length_ns = match shape_milli {
            Some(shape_milli) => self.random.pareto_ns(on_ns, shape_milli),
            None => self.random.exponential_ns(on_ns),
        };
        // At least one packet.
        self.until_ns = self.due_ns.saturating_add(length_ns.max(1));
    }

    pub fn poll(&mut self, now_ns: u64) -> Poll {
        if now_ns < self.due_ns {
            return Poll::At(self.due_ns);
        }
        self.due_ns += self.gap_ns;
        if self.due_ns >= self.until_ns {
            self.until_ns = self.due_ns;
            self.pause();
        }
        self.number += 1;
        Poll::Send(self.number - 1)
    }
}

//! Packets at equal distances in periods of sending, with pauses between them. Periods of Pareto's
//! distribution make traffic of many flows self-similar (Willinger et al., SIGCOMM '95).

use takt_policy::traffic::Periods;

use super::Poll;
use crate::random::Random;

const NS_PER_BYTE_AT_1BPS: u64 = 8_000_000_000;

#[derive(Debug)]
pub(crate) struct Bursts {
    periods: Periods,
    gap_ns: u64,
    due_ns: u64,
    /// The present period's end.
    until_ns: u64,
    number: u64,
    random: Random,
}

impl Bursts {
    /// Begins with a pause.
    pub fn new(periods: Periods, wire_bytes: u32, start_ns: u64, random: Random) -> Self {
        let gap_ns = u64::from(wire_bytes) * NS_PER_BYTE_AT_1BPS / periods.rate_bps;
        let mut bursts = Self {
            periods,
            gap_ns: gap_ns.max(1),
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
        let Periods {
            on_ns,
            off_ns,
            shape_milli,
            ..
        } = self.periods;
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

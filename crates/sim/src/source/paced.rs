//! Packets at equal or at exponential distances.

use takt_algo::ByteClock;

use super::Poll;
use crate::random::Random;

const NS_PER_BYTE_AT_1BPS: u64 = 8_000_000_000;

#[derive(Debug)]
pub(crate) struct Paced {
    number: u64,
    gap: Gap,
}

#[derive(Debug)]
enum Gap {
    /// The fraction of a nanosecond is kept, so that the rate is exact.
    Even(ByteClock, u32),
    Exponential(Box<Exponential>),
}

#[derive(Debug)]
struct Exponential {
    due_ns: u64,
    mean_ns: u64,
    random: Random,
}

/// What a packet takes at this rate.
fn packet_ns(rate_bps: u64, wire_bytes: u32) -> u64 {
    u64::from(wire_bytes) * NS_PER_BYTE_AT_1BPS / rate_bps
}

impl Paced {
    /// Begins at the start, or at any time within the first distance.
    pub fn even(
        rate_bps: u64,
        wire_bytes: u32,
        start_ns: u64,
        at_start: bool,
        mut random: Random,
    ) -> Self {
        let later_ns = random.below(packet_ns(rate_bps, wire_bytes));
        let due_ns = start_ns + if at_start { 0 } else { later_ns };
        let mut clock = ByteClock::new(rate_bps, u64::MAX);
        clock.start(due_ns);
        Self {
            number: 0,
            gap: Gap::Even(clock, wire_bytes),
        }
    }

    pub fn poisson(rate_bps: u64, wire_bytes: u32, start_ns: u64, mut random: Random) -> Self {
        let mean_ns = packet_ns(rate_bps, wire_bytes);
        Self {
            number: 0,
            gap: Gap::Exponential(Box::new(Exponential {
                due_ns: start_ns + random.exponential_ns(mean_ns),
                mean_ns,
                random,
            })),
        }
    }

    pub fn poll(&mut self, now_ns: u64) -> Poll {
        let due_ns = match &self.gap {
            Gap::Even(clock, _) => clock.due_ns(),
            Gap::Exponential(gap) => gap.due_ns,
        };
        if now_ns < due_ns {
            return Poll::At(due_ns);
        }
        match &mut self.gap {
            Gap::Even(clock, wire_bytes) => clock.spend(0, due_ns, (*wire_bytes).into()),
            Gap::Exponential(gap) => gap.due_ns += gap.random.exponential_ns(gap.mean_ns),
        }
        self.number += 1;
        Poll::Send(self.number - 1)
    }
}

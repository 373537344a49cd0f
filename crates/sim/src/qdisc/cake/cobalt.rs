//! COBALT, CAKE's queue management: CoDel that forgets slowly, and BLUE for queues that overflow.

use crate::random::Random;

/// What BLUE's probability grows by at an overflow, of 2^32 ...
const MORE: u32 = 1 << 24;
/// ... and falls by when the queue is empty.
const LESS: u32 = 1 << 20;

/// When packets are dropped.
#[derive(Debug, Clone, Copy)]
pub(super) struct CobaltTerms {
    pub target_ns: u64,
    pub interval_ns: u64,
    /// What the largest packet takes.
    pub packet_ns: u64,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Send,
    Mark,
    Drop,
}

/// The state of one queue (`struct cobalt_vars`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cobalt {
    count: u32,
    is_dropping: bool,
    /// When CoDel drops next, or has nothing to forget any more.
    next_ns: u64,
    blue_ns: u64,
    blue: u32,
}

impl Cobalt {
    /// `cobalt_control`: later by the interval over the root of the count.
    fn later_ns(&self, from_ns: u64, terms: &CobaltTerms) -> u64 {
        let count = u128::from(self.count.max(1));
        let inverse = ((1u128 << 64) / count).isqrt();
        from_ns + ((u128::from(terms.interval_ns) * inverse) >> 32) as u64
    }

    /// `cobalt_queue_full`: a packet was dropped since memory was used up.
    pub fn full(&mut self, terms: &CobaltTerms, now_ns: u64) {
        if now_ns - self.blue_ns > terms.target_ns {
            self.blue = self.blue.saturating_add(MORE);
            self.blue_ns = now_ns;
        }
        self.is_dropping = true;
        self.next_ns = now_ns;
        self.count = self.count.max(1);
    }

    /// `cobalt_queue_empty`
    pub fn empty(&mut self, terms: &CobaltTerms, now_ns: u64) {
        if self.blue > 0 && now_ns - self.blue_ns > terms.target_ns {
            self.blue = self.blue.saturating_sub(LESS);
            self.blue_ns = now_ns;
        }
        self.is_dropping = false;
        if self.count > 0 && now_ns >= self.next_ns {
            self.count -= 1;
            self.next_ns = self.later_ns(self.next_ns, terms);
        }
    }

    /// Whether there is something left to forget.
    pub fn is_decaying(&self, now_ns: u64) -> bool {
        self.blue > 0 || self.count > 0 || now_ns < self.next_ns
    }

    /// `cobalt_should_drop`: a packet that waited for so long is about to leave.
    pub fn judge(
        &mut self,
        terms: &CobaltTerms,
        now_ns: u64,
        waited_ns: u64,
        understands_marks: bool,
        random: &mut Random,
    ) -> Verdict {
        let is_over = waited_ns > terms.target_ns.max(4 * terms.packet_ns);
        let mut is_due = self.count > 0 && now_ns >= self.next_ns;
        let mut is_behind = now_ns > self.next_ns;
        let mut verdict = Verdict::Send;
        if is_over {
            if !self.is_dropping {
                self.is_dropping = true;
                self.next_ns = self.later_ns(now_ns, terms);
            }
            self.count = self.count.max(1);
        } else {
            self.is_dropping = false;
        }
        if is_due && self.is_dropping {
            verdict = if understands_marks {
                Verdict::Mark
            } else {
                Verdict::Drop
            };
            self.count = self.count.saturating_add(1);
            self.next_ns = self.later_ns(self.next_ns, terms);
            is_behind = now_ns > self.next_ns;
        } else {
            while is_due {
                self.count -= 1;
                self.next_ns = self.later_ns(self.next_ns, terms);
                is_behind = now_ns > self.next_ns;
                is_due = self.count > 0 && now_ns >= self.next_ns;
            }
        }
        if self.blue > 0 && random.below(1 << 32) < u64::from(self.blue) {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.next_ns = now_ns + terms.interval_ns;
        } else if is_behind && verdict != Verdict::Drop {
            self.next_ns = now_ns;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: CobaltTerms = CobaltTerms {
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        packet_ns: 100_000,
    };

    #[test]
    fn a_standing_queue_loses_packets_faster_and_faster() {
        let mut cobalt = Cobalt::default();
        let mut random = Random::new(1, 0);
        let drops: Vec<u64> = (0..1000u64)
            .map(|at| at * 1_000_000)
            .filter(|now_ns| {
                cobalt.judge(&TERMS, *now_ns, 20_000_000, false, &mut random) == Verdict::Drop
            })
            .collect();
        let distances: Vec<u64> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(drops[0] >= 100_000_000 && drops.len() > 10, "{drops:?}");
        assert!(distances.last() < distances.first(), "{distances:?}");
    }

    #[test]
    fn short_waits_lose_nothing() {
        let mut cobalt = Cobalt::default();
        let mut random = Random::new(1, 0);
        for at in 0..1000u64 {
            let verdict = cobalt.judge(&TERMS, at * 1_000_000, 4_000_000, false, &mut random);
            assert_eq!(verdict, Verdict::Send);
        }
    }
}

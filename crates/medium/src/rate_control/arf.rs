//! ARF (A. Kamerman and L. Monteban, WaveLAN-II: a high-performance wireless LAN for the
//! unlicensed band, Bell Labs Technical Journal 1997).

use crate::Rate;

/// The rate rises after successes in a row, and falls after failures in a row. If the first
/// attempt after a rise fails, the rate falls at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arf {
    /// Acknowledgements in a row before a rise.
    pub successes: u32,
    /// Missed ones in a row before a fall.
    pub failures: u32,
    /// The rate rises, too, with the first success after so many attempts since the last rise or
    /// fall; `None`: never.
    pub timer_attempts: Option<u32>,
}

impl Arf {
    /// 10 and 2. The paper's timer is in time and its value not given; 15 attempts are those of
    /// Lacage et al. (INRIA RR-5208, 2004) and of ns-3's `ArfWifiManager`.
    pub const WAVELAN_II: Arf = Arf {
        successes: 10,
        failures: 2,
        timer_attempts: Some(15),
    };
    /// 10 and 4 without the timer: tuned, from no source.
    pub const TUNED: Arf = Arf {
        successes: 10,
        failures: 4,
        timer_attempts: None,
    };
}

#[derive(Debug, Clone)]
pub(crate) struct Control {
    rules: Arf,
    fastest: usize,
    rate: usize,
    successes: u32,
    failures: u32,
    /// Attempts since the rate changed, or would have.
    attempts: u32,
    /// The next attempt is the first after a rise.
    is_trying: bool,
}

impl Control {
    /// Starts at the fastest rate.
    pub fn new(rules: Arf, rates: &[Rate]) -> Self {
        let fastest = rates.len().saturating_sub(1);
        Control {
            rules,
            fastest,
            rate: fastest,
            successes: 0,
            failures: 0,
            attempts: 0,
            is_trying: false,
        }
    }

    pub fn rate(&self) -> usize {
        self.rate
    }

    pub fn sent(&mut self, is_acknowledged: bool) {
        self.attempts = self.attempts.saturating_add(1);
        let was_trying = std::mem::take(&mut self.is_trying);
        if is_acknowledged {
            self.failures = 0;
            self.successes += 1;
            let timer = self.rules.timer_attempts;
            if self.successes >= self.rules.successes
                || timer.is_some_and(|attempts| self.attempts >= attempts)
            {
                self.is_trying = self.rate < self.fastest;
                self.settle((self.rate + 1).min(self.fastest));
            }
        } else {
            self.successes = 0;
            self.failures += 1;
            if was_trying || self.failures >= self.rules.failures {
                self.settle(self.rate.saturating_sub(1));
            }
        }
    }

    fn settle(&mut self, rate: usize) {
        self.rate = rate;
        (self.successes, self.failures, self.attempts) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use proptest::prelude::*;

    fn control(rules: Arf) -> Control {
        Control::new(rules, &Profile::dot11g().rates)
    }

    fn send(control: &mut Control, outcomes: &str) -> usize {
        for outcome in outcomes.chars() {
            control.sent(outcome == '+');
        }
        control.rate()
    }

    #[test]
    fn it_falls_after_failures_in_a_row() {
        let mut arf = control(Arf::WAVELAN_II);
        assert_eq!(send(&mut arf, "-+-+-"), 7);
        assert_eq!(send(&mut arf, "-"), 6);
        assert_eq!(send(&mut arf, "-"), 6);
        assert_eq!(send(&mut arf, "-"), 5);
        let mut tuned = control(Arf::TUNED);
        assert_eq!(send(&mut tuned, "---+---"), 7);
        assert_eq!(send(&mut tuned, "-"), 6);
        assert_eq!(send(&mut tuned, &"-".repeat(100)), 0);
    }

    #[test]
    fn it_rises_after_ten_and_falls_back_at_once() {
        let mut arf = control(Arf::TUNED);
        send(&mut arf, "--------");
        assert_eq!(send(&mut arf, "+++++++++"), 5);
        assert_eq!(send(&mut arf, "+"), 6);
        assert_eq!(send(&mut arf, "-"), 5);
        // After that the usual number again.
        assert_eq!(send(&mut arf, "---"), 5);
        assert_eq!(send(&mut arf, "-"), 4);
        assert_eq!(send(&mut arf, "+++++++++++---"), 5);
    }

    #[test]
    fn the_timer_counts_attempts() {
        let fallen = |rules| {
            let mut arf = control(rules);
            send(&mut arf, "--");
            arf
        };
        let mut arf = fallen(Arf::WAVELAN_II);
        assert_eq!(send(&mut arf, "+++++-+++++++-"), 6);
        assert_eq!(send(&mut arf, "+"), 7);
        let without = Arf {
            timer_attempts: None,
            ..Arf::WAVELAN_II
        };
        assert_eq!(send(&mut fallen(without), "+++++-+++++++-+"), 6);
    }

    proptest! {
        /// By one step at a time, and never without a reason.
        #[test]
        fn it_moves_by_one_step_with_a_reason(
            outcomes in proptest::collection::vec(any::<bool>(), 0..400),
        ) {
            let mut arf = control(Arf::WAVELAN_II);
            for is_acknowledged in outcomes {
                let before = arf.rate();
                arf.sent(is_acknowledged);
                let range = if is_acknowledged {
                    before..=(before + 1).min(7)
                } else {
                    before.saturating_sub(1)..=before
                };
                prop_assert!(range.contains(&arf.rate()));
            }
        }
    }
}

//! Rates of a frame's attempts, one after the other.

/// As many as Atheros' hardware and Linux's mac80211 have (`IEEE80211_TX_MAX_RATES`).
const STEPS: usize = 4;

/// Multi-rate retry: a frame's attempts go through these steps, and stay at the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    /// Steps of zero tries are skipped.
    pub steps: [Step; STEPS],
}

/// Attempts at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    /// An index into the profile's rates.
    pub rate: usize,
    /// The most attempts at it.
    pub tries: u32,
}

impl Chain {
    /// All attempts at one rate.
    pub fn single(rate: usize) -> Self {
        let mut steps = [Step::default(); STEPS];
        steps[0] = Step { rate, tries: 1 };
        Chain { steps }
    }

    /// `tries` at each of `rate`, the next two slower ones and the slowest.
    pub fn down_from(rate: usize, tries: u32) -> Self {
        let step = |rate| Step { rate, tries };
        Chain {
            steps: [
                step(rate),
                step(rate.saturating_sub(1)),
                step(rate.saturating_sub(2)),
                step(0),
            ],
        }
    }

    /// The rate of the attempt after `failures` failed ones.
    pub fn rate(&self, failures: u32) -> usize {
        self.steps[self.step(failures)].rate
    }

    /// The step of that attempt.
    fn step(&self, failures: u32) -> usize {
        let mut end = 0;
        let mut last = 0;
        for (index, step) in self.steps.iter().enumerate() {
            if step.tries > 0 {
                last = index;
            }
            end += step.tries;
            if failures < end {
                break;
            }
        }
        last
    }

    pub(crate) fn fastest(&self) -> usize {
        let rates = self.steps.iter().map(|step| step.rate);
        rates.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_go_through_the_steps_and_stay_at_the_last() {
        let step = |rate, tries| Step { rate, tries };
        let chain = Chain {
            steps: [step(7, 2), step(5, 0), step(4, 1), step(0, 0)],
        };
        let rates: Vec<usize> = (0..5).map(|failures| chain.rate(failures)).collect();
        assert_eq!(rates, [7, 7, 4, 4, 4]);
        assert_eq!((0..9).map(|n| Chain::single(3).rate(n)).max(), Some(3));
        let down: Vec<usize> = (0..8).map(|n| Chain::down_from(7, 2).rate(n)).collect();
        assert_eq!(down, [7, 7, 6, 6, 5, 5, 0, 0]);
    }
}

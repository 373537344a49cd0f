//! Rates: differences of counters between two samples, over the time between them.

use std::{collections::HashMap, time::Duration};

/// The counters of a row; unused ones are 0.
pub type Counts = [u64; 4];
/// By how much each grew, per second.
pub type Rates = [f64; 4];

/// A difference over less time is mostly chance.
const APART_MIN: Duration = Duration::from_millis(50);

/// Remembers the counters of the samples before.
#[derive(Debug, Default)]
pub struct Meter {
    at_ns: u64,
    round: u64,
    known: HashMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    at_ns: u64,
    round: u64,
    counts: Counts,
    rates: Option<Rates>,
}

impl Meter {
    /// The next sample is of this time. What was not in the one before is forgotten.
    pub fn begin(&mut self, at_ns: u64) {
        let before = self.round;
        self.known.retain(|_, known| known.round == before);
        self.round += 1;
        self.at_ns = at_ns;
    }

    /// The rates of one thing; `None` if they are unknown: it is new, or its counters began again.
    pub fn rates(&mut self, name: String, counts: Counts) -> Option<Rates> {
        let known = self.known.entry(name).or_insert(Known {
            at_ns: self.at_ns,
            round: self.round,
            counts,
            rates: None,
        });
        known.round = self.round;
        let passed = Duration::from_nanos(self.at_ns.saturating_sub(known.at_ns));
        if passed >= APART_MIN {
            known.rates = rates(&known.counts, &counts, passed);
            known.counts = counts;
            known.at_ns = self.at_ns;
        }
        known.rates
    }
}

fn rates(before: &Counts, now: &Counts, passed: Duration) -> Option<Rates> {
    let mut rates = Rates::default();
    for (rate, (before, now)) in rates.iter_mut().zip(before.iter().zip(now)) {
        *rate = now.checked_sub(*before)? as f64 / passed.as_secs_f64();
    }
    Some(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn at(meter: &mut Meter, at_ns: u64, name: &str, count: u64) -> Option<f64> {
        meter.begin(at_ns);
        let rates = meter.rates(name.to_owned(), [count, 0, 0, 0]);
        rates.map(|rates| rates[0])
    }

    #[test]
    fn a_rate_is_a_difference_over_the_time_that_passed() {
        let mut meter = Meter::default();
        assert_eq!(at(&mut meter, S, "a", 1_000), None, "the first sample");
        assert_eq!(at(&mut meter, 3 * S, "a", 1_500), Some(250.0));
        assert_eq!(at(&mut meter, 4 * S, "a", 1_500), Some(0.0));
    }

    #[test]
    fn counters_that_begin_again_have_no_rate() {
        let mut meter = Meter::default();
        at(&mut meter, S, "a", 1_000);
        assert_eq!(at(&mut meter, 2 * S, "a", 10), None, "smaller");
        assert_eq!(at(&mut meter, 3 * S, "a", 30), Some(20.0));
        assert_eq!(at(&mut meter, 4 * S, "b", 30), None, "another");
        assert_eq!(at(&mut meter, 5 * S, "a", 90), None, "away meanwhile");
    }

    #[test]
    fn one_counter_that_begins_again_is_enough() {
        let mut meter = Meter::default();
        meter.begin(S);
        meter.rates("a".to_owned(), [5, 5, 0, 0]);
        meter.begin(2 * S);
        assert_eq!(meter.rates("a".to_owned(), [6, 4, 0, 0]), None);
    }

    #[test]
    fn a_hasty_sample_keeps_the_rates_before_it() {
        let mut meter = Meter::default();
        at(&mut meter, S, "a", 0);
        at(&mut meter, 2 * S, "a", 100);
        let soon = 2 * S + 1_000_000;
        assert_eq!(at(&mut meter, soon, "a", 150), Some(100.0));
        assert_eq!(at(&mut meter, 3 * S, "a", 300), Some(200.0));
    }
}

//! What a direction has carried, by time.

use std::collections::VecDeque;

use crate::NS_PER_S;

/// Enough for two probes of each of eight reflectors, at ten a second.
const KEPT: usize = 64;

/// Bytes since the start, at each step. Between steps they grow evenly.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carried {
    /// Time and sum; both grow.
    steps: VecDeque<(u64, u64)>,
}

impl Carried {
    pub fn add(&mut self, now_ns: u64, bytes: u64) {
        let sum = self.steps.back().map_or(0, |(_, sum)| *sum);
        self.steps.push_back((now_ns, sum.saturating_add(bytes)));
        if self.steps.len() > KEPT {
            self.steps.pop_front();
        }
    }

    /// The sum at a time; `None`: it is not known.
    fn at(&self, ns: u64) -> Option<u64> {
        let after = self.steps.iter().position(|(at_ns, _)| *at_ns >= ns)?;
        let (end_ns, end) = self.steps[after];
        if end_ns == ns {
            return Some(end);
        }
        let (begin_ns, begin) = self.steps[after.checked_sub(1)?];
        let part = u128::from(end - begin) * u128::from(ns - begin_ns);
        Some(begin + (part / u128::from(end_ns - begin_ns)) as u64)
    }

    pub fn last_ns(&self) -> Option<u64> {
        self.steps.back().map(|(ns, _)| *ns)
    }

    /// Bytes of a span.
    pub fn between(&self, from_ns: u64, to_ns: u64) -> Option<u64> {
        Some(self.at(to_ns)? - self.at(from_ns)?)
    }

    /// The rate of the last `span_ns`, or of as much as is known.
    pub fn bps(&self, span_ns: u64) -> u64 {
        let (Some((first_ns, _)), Some(last_ns)) = (self.steps.front(), self.last_ns()) else {
            return 0;
        };
        let from_ns = last_ns.saturating_sub(span_ns).max(*first_ns);
        let bytes = self.between(from_ns, last_ns).unwrap_or_default();
        bps(bytes, last_ns - from_ns)
    }
}

/// 0 in no time.
pub(crate) fn bps(bytes: u64, ns: u64) -> u64 {
    let bits = 8 * u128::from(bytes) * u128::from(NS_PER_S);
    bits.checked_div(u128::from(ns))
        .map_or(0, |bps| u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MS;

    #[test]
    fn bytes_between_steps_are_in_proportion() {
        let mut carried = Carried::default();
        for (ms, bytes) in [(0, 0), (100, 1_000), (200, 3_000), (300, 0)] {
            carried.add(ms * MS, bytes);
        }
        assert_eq!(carried.between(50 * MS, 150 * MS), Some(500 + 1_500));
        assert_eq!(carried.between(0, 300 * MS), Some(4_000));
        assert_eq!(carried.between(250 * MS, 350 * MS), None);
        assert_eq!(carried.bps(200 * MS), 120_000);
        assert_eq!(Carried::default().bps(200 * MS), 0);
    }

    #[test]
    fn old_steps_are_forgotten() {
        let mut carried = Carried::default();
        for step in 0..1_000 {
            carried.add(step * MS, 1);
        }
        assert_eq!(carried.between(0, 999 * MS), None);
        assert_eq!(carried.between(950 * MS, 999 * MS), Some(49));
    }
}

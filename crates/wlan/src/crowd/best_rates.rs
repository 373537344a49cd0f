//! How far the rates of frames on the air have fallen from their best.

use std::collections::BTreeMap;

/// A best rate is forgotten by this part at each look.
const FORGET_DIVISOR: u64 = 1024;

/// The best rate of each sender lately, in bits per second.
#[derive(Debug)]
pub(super) struct BestRates<K>(BTreeMap<K, u64>);

impl<K> Default for BestRates<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Copy> BestRates<K> {
    /// A look at the present rates: the part of its best that the sender in the middle still has,
    /// in 1024ths. Of an even number it is the upper one, so more than half have fallen as far.
    /// `None`: there is no sender. Others than these are forgotten.
    pub fn median_part_q10(&mut self, rates_bps: &BTreeMap<K, u64>) -> Option<u64> {
        self.0.retain(|sender, _| rates_bps.contains_key(sender));
        let mut parts_q10: Vec<u64> = rates_bps
            .iter()
            .map(|(sender, &rate_bps)| {
                let best_bps = self.0.entry(*sender).or_default();
                *best_bps = (*best_bps - *best_bps / FORGET_DIVISOR).max(rate_bps);
                rate_bps.saturating_mul(1024) / (*best_bps).max(1)
            })
            .collect();
        parts_q10.sort_unstable();
        parts_q10.get(parts_q10.len() / 2).copied()
    }

    /// The lower median of the best rates; 0: there are none.
    pub fn median_bps(&self) -> u64 {
        let mut best_bps: Vec<u64> = self.0.values().copied().collect();
        best_bps.sort_unstable();
        let middle = best_bps.len().saturating_sub(1) / 2;
        best_bps.get(middle).copied().unwrap_or_default()
    }
}

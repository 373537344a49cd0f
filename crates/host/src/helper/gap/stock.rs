//! Which lengths a link's stock holds, and how many of each. Pure: the link's counters are
//! arguments.
//!
//! The basic lengths make up every gap (see `algo/gap.h`). Beyond them, lengths
//! that the link often had to make up of two are learned: a class with an even
//! flow needs one or two. A length that runs short gets a larger share.

use takt_algo::sys::{
    TAKT_GAP_LEN_MIN, TAKT_GAP_LENS, TAKT_GAP_PLENTY, TAKT_GAP_SLOTS, TAKT_GAP_STEP,
};

/// The initial number of each length, and how long the longest lasts on an idle wire: longer
/// than the feeder has to wait for a processor.
const OF_EACH: u32 = 2 * TAKT_GAP_PLENTY;
const LONGEST_LASTS_NS: u64 = 8_000_000;
const OF_LONGEST_MAX: u64 = 1024;

const LEARNED_MAX: usize = 8;
/// Missed this often between two looks, a length is worth its slots.
const WORTH_LEARNING: u32 = 8;

/// A length and the target of its stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shelf {
    pub len: u32,
    pub target: u32,
}

/// What a link has counted for a length since the last look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Demand {
    pub spent: u32,
    pub missed: u32,
}

#[derive(Debug)]
pub(super) struct Stock {
    longest: u32,
    shelves: Vec<Shelf>,
    /// Of these, learned ones, which may be removed again.
    learned: Vec<u32>,
}

impl Stock {
    /// For a link of this rate whose longest gap frame is `longest` bytes.
    pub fn new(rate_bps: u64, longest: u32, overhead_bytes: u32) -> Self {
        let wire_bits = 8 * u64::from(longest + overhead_bytes);
        let of_longest = u128::from(rate_bps) * u128::from(LONGEST_LASTS_NS)
            / (u128::from(wire_bits) * 1_000_000_000);
        let of_longest = u64::try_from(of_longest).unwrap_or(OF_LONGEST_MAX);
        let fine = TAKT_GAP_LEN_MIN..TAKT_GAP_LEN_MIN + TAKT_GAP_STEP;
        let coarse = (TAKT_GAP_LEN_MIN + TAKT_GAP_STEP..longest).step_by(TAKT_GAP_STEP as usize);
        let mut shelves = vec![Shelf {
            len: longest,
            target: of_longest.clamp(2 * u64::from(OF_EACH), OF_LONGEST_MAX) as u32,
        }];
        shelves.extend(fine.chain(coarse).map(|len| Shelf {
            len,
            target: OF_EACH,
        }));
        Self {
            longest,
            shelves,
            learned: Vec::new(),
        }
    }

    /// The longest first: an idle wire needs it most.
    pub fn shelves(&self) -> &[Shelf] {
        &self.shelves
    }

    /// Gap mode may begin with this many templates in stock.
    pub fn enough(&self) -> u32 {
        self.total() / 2
    }

    /// Lengths that may be worth learning.
    pub fn learnable(&self) -> std::ops::Range<u32> {
        TAKT_GAP_LEN_MIN + TAKT_GAP_STEP..self.longest.min(TAKT_GAP_LENS)
    }

    /// Called when a length had less than a quarter of its target: doubles it if there is room.
    /// Returns the new target if it changed.
    pub fn ran_short(&mut self, len: u32) -> Option<u32> {
        let room = self.room();
        let shelf = self.shelves.iter_mut().find(|shelf| shelf.len == len)?;
        if shelf.target > room {
            return None;
        }
        shelf.target *= 2;
        Some(shelf.target)
    }

    /// Learn the lengths that were missed; `demand` says how often. Those that were of less use
    /// make room. Returns the new and the removed lengths.
    pub fn learn(&mut self, demand: impl Fn(u32) -> Demand) -> (Vec<Shelf>, Vec<u32>) {
        let mut wanted: Vec<(u32, u32)> = self
            .learnable()
            .map(|len| (demand(len).missed, len))
            .filter(|(missed, len)| *missed >= WORTH_LEARNING && !self.holds(*len))
            .collect();
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        let (mut came, mut went) = (Vec::new(), Vec::new());
        for (missed, len) in wanted.into_iter().take(LEARNED_MAX) {
            if self.learned.len() >= LEARNED_MAX || self.room() < OF_EACH {
                let least = self
                    .learned
                    .iter()
                    .copied()
                    .min_by_key(|len| demand(*len).spent);
                match least {
                    Some(least) if demand(least).spent < missed && !came.contains(&least) => {
                        self.learned.retain(|len| *len != least);
                        self.shelves.retain(|shelf| shelf.len != least);
                        went.push(least);
                    }
                    _ => break,
                }
            }
            self.learned.push(len);
            self.shelves.push(Shelf {
                len,
                target: OF_EACH,
            });
            came.push(len);
        }
        let came = self
            .shelves
            .iter()
            .filter(|shelf| came.contains(&shelf.len))
            .copied()
            .collect();
        (came, went)
    }

    fn holds(&self, len: u32) -> bool {
        self.shelves.iter().any(|shelf| shelf.len == len)
    }

    fn total(&self) -> u32 {
        self.shelves.iter().map(|shelf| shelf.target).sum()
    }

    /// Slots that no length has claimed. Half of the removed templates may still be in stock.
    fn room(&self) -> u32 {
        (TAKT_GAP_SLOTS - 1).saturating_sub(self.total() + LEARNED_MAX as u32 * OF_EACH)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::link::gap::LONGEST_MAX;

    fn total(stock: &Stock) -> u32 {
        stock.shelves().iter().map(|shelf| shelf.target).sum()
    }

    #[test]
    fn every_stock_fits() {
        for longest in [188, 1514, 9014, LONGEST_MAX] {
            for rate_bps in [1_000, 100_000_000, 400_000_000_000] {
                let stock = Stock::new(rate_bps, longest, 24);
                assert!(total(&stock) < TAKT_GAP_SLOTS, "{longest} {rate_bps}");
                let mut lens: Vec<u32> = stock.shelves().iter().map(|s| s.len).collect();
                lens.sort_unstable();
                lens.dedup();
                assert_eq!(lens.len(), stock.shelves().len());
            }
        }
    }

    #[test]
    fn what_runs_short_grows_until_the_places_are_claimed() {
        let mut stock = Stock::new(1_000_000_000, 1514, 24);
        assert_eq!(stock.ran_short(171), Some(2 * OF_EACH));
        while stock.ran_short(171).is_some() {}
        while stock.ran_short(1514).is_some() {}
        assert!(total(&stock) < TAKT_GAP_SLOTS);
        assert_eq!(stock.ran_short(1000), None);
    }

    #[test]
    fn missed_lengths_are_learned_and_useless_ones_forgotten() {
        let mut stock = Stock::new(100_000_000, 1514, 24);
        let missed: BTreeMap<u32, u32> = (0..8).map(|n| (500 + n, 100 + n)).collect();
        let (came, went) = stock.learn(|len| Demand {
            missed: missed.get(&len).copied().unwrap_or_default(),
            spent: 0,
        });
        assert_eq!((came.len(), went.len()), (8, 0));
        let (came, went) = stock.learn(|len| Demand {
            missed: if len == 900 { 50 } else { 0 },
            spent: if len == 503 { 10 } else { 1000 },
        });
        assert_eq!(came[0].len, 900);
        assert_eq!(went, [503]);
        let (came, _) = stock.learn(|len| Demand {
            missed: if len == 901 { 7 } else { 0 },
            spent: 0,
        });
        assert_eq!(came, []);
    }
}

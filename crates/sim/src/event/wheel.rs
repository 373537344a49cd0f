//! A wheel of buckets, each for the events of one span of time.

use super::Event;

/// A power of two.
const BUCKETS: usize = 4096;
/// Its exponent.
pub(super) const BUCKETS_LOG: u32 = BUCKETS.ilog2();

/// Buckets, and which of them have events.
#[derive(Debug)]
pub(super) struct Wheel {
    buckets: Vec<Vec<Event>>,
    occupied: [u64; BUCKETS / 64],
    count: usize,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            buckets: vec![Vec::new(); BUCKETS],
            occupied: [0; BUCKETS / 64],
            count: 0,
        }
    }
}

impl Wheel {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number counts modulo the number of buckets.
    pub fn insert(&mut self, number: u64, event: Event) {
        let at = number as usize % BUCKETS;
        self.buckets[at].push(event);
        self.occupied[at / 64] |= 1 << (at % 64);
        self.count += 1;
    }

    /// The first bucket with events. The wheel must not be empty.
    pub fn first(&self) -> u64 {
        let has_any = |word: &u64| *word != 0;
        let word = self.occupied.iter().position(has_any).unwrap_or_default();
        (word * 64) as u64 + u64::from(self.occupied[word].trailing_zeros())
    }

    /// Exchanges the events of a bucket for an empty list, whose memory is used again.
    pub fn take(&mut self, number: u64, empty: &mut Vec<Event>) {
        let at = number as usize % BUCKETS;
        std::mem::swap(&mut self.buckets[at], empty);
        self.occupied[at / 64] &= !(1 << (at % 64));
        self.count -= empty.len();
    }
}

//! A set-associative cache that replaces the least recently used line.

/// Bytes of a line, in all caches here.
pub const LINE_BYTES: u64 = 64;

/// A cache's geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Its size; a power of two.
    pub bytes: usize,
    /// Lines of a set; a power of two.
    pub ways: usize,
}

/// Which lines a cache holds.
#[derive(Debug)]
pub struct Cache {
    ways: usize,
    set_mask: u64,
    /// Set by set, the most recently used line first. `EMPTY` marks unused places.
    lines: Vec<u64>,
}

/// No address: lines are numbered by addresses divided by their length.
const EMPTY: u64 = u64::MAX;

impl Cache {
    /// An empty cache.
    pub fn new(geometry: Geometry) -> Self {
        let lines = geometry.bytes / LINE_BYTES as usize;
        Self {
            ways: geometry.ways,
            set_mask: (lines / geometry.ways) as u64 - 1,
            lines: vec![EMPTY; lines],
        }
    }

    /// An access to this line. Returns whether it hit. A line that was missed replaces the least
    /// recently used one of its set.
    pub fn access(&mut self, line: u64) -> bool {
        let first = (line & self.set_mask) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        let found = set.iter().position(|held| *held == line);
        set[..=found.unwrap_or(self.ways - 1)].rotate_right(1);
        set[0] = line;
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALL: Geometry = Geometry {
        bytes: 1024,
        ways: 4,
    };

    #[test]
    fn the_line_used_longest_ago_is_replaced() {
        let mut cache = Cache::new(SMALL);
        // Four sets: these lines are all of the first.
        for line in [0, 4, 8, 12] {
            assert!(!cache.access(line));
        }
        assert!(cache.access(0));
        assert!(!cache.access(16));
        assert!(cache.access(0));
        assert!(!cache.access(4));
    }

    proptest! {
        #[test]
        fn what_fits_is_missed_once(lines in prop::collection::vec(0_u64..16, 1..500)) {
            let mut cache = Cache::new(SMALL);
            let misses = lines.iter().filter(|line| !cache.access(**line)).count();
            let mut distinct = lines.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(misses, distinct.len());
        }

        #[test]
        fn each_set_is_a_list_in_order_of_use(lines in prop::collection::vec(0_u64..64, 1..500)) {
            let mut cache = Cache::new(SMALL);
            let mut order: Vec<u64> = Vec::new();
            for line in lines {
                let in_set = order.iter().filter(|held| **held % 4 == line % 4);
                let expected = in_set.take(SMALL.ways).any(|held| *held == line);
                prop_assert_eq!(cache.access(line), expected);
                order.retain(|held| *held != line);
                order.insert(0, line);
            }
        }
    }
}

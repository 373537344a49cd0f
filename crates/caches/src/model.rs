//! Two processors' caches: a small one of gateways, and one of servers.

use crate::cache::{Cache, Geometry, LINE_BYTES};

/// The caches of one processor: instructions and data apart, and a second level for both.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// As in metrics' names.
    pub name: &'static str,
    l1i: Geometry,
    l1d: Geometry,
    l2: Geometry,
}

const fn kib(kib: usize, ways: usize) -> Geometry {
    Geometry {
        bytes: kib * 1024,
        ways,
    }
}

/// The sizes of an Arm Cortex-A53, of many gateways and access points, and of an AMD Zen 4 core.
pub const SHAPES: [Shape; 2] = [
    Shape {
        name: "gateway",
        l1i: kib(32, 2),
        l1d: kib(32, 4),
        l2: kib(512, 16),
    },
    Shape {
        name: "server",
        l1i: kib(32, 8),
        l1d: kib(32, 8),
        l2: kib(1024, 8),
    },
];

/// What is counted of each shape, in this order, as in metrics' names.
pub const COUNTED: [&str; 3] = ["l1i", "l1d", "l2"];

/// Misses so far, shape by shape.
pub type Misses = [[u64; COUNTED.len()]; SHAPES.len()];

#[derive(Debug)]
struct Caches {
    l1i: Cache,
    l1d: Cache,
    l2: Cache,
}

/// The caches of all shapes, which see the same accesses.
#[derive(Debug)]
pub struct Model {
    caches: [Caches; SHAPES.len()],
    misses: Misses,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            caches: SHAPES.map(|shape| Caches {
                l1i: Cache::new(shape.l1i),
                l1d: Cache::new(shape.l1d),
                l2: Cache::new(shape.l2),
            }),
            misses: Misses::default(),
        }
    }
}

impl Model {
    /// An instruction in this line is fetched.
    pub fn fetch(&mut self, line: u64) {
        for (caches, misses) in self.caches.iter_mut().zip(&mut self.misses) {
            if !caches.l1i.access(line) {
                misses[0] += 1;
                misses[2] += u64::from(!caches.l2.access(line));
            }
        }
    }

    /// Data at this address is read or written: lines that are written are read first.
    pub fn touch(&mut self, address: u64, bytes: u64) {
        for line in address / LINE_BYTES..=(address + bytes.max(1) - 1) / LINE_BYTES {
            for (caches, misses) in self.caches.iter_mut().zip(&mut self.misses) {
                if !caches.l1d.access(line) {
                    misses[1] += 1;
                    misses[2] += u64::from(!caches.l2.access(line));
                }
            }
        }
    }

    /// All misses so far.
    pub fn misses(&self) -> Misses {
        self.misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_across_two_lines_touches_both() {
        let mut model = Model::default();
        model.touch(60, 8);
        assert_eq!(model.misses(), [[0, 2, 2]; 2]);
        model.touch(64, 1);
        model.touch(0, 1);
        assert_eq!(model.misses(), [[0, 2, 2]; 2]);
    }

    #[test]
    fn instructions_and_data_share_the_second_level() {
        let mut model = Model::default();
        model.fetch(1);
        model.touch(LINE_BYTES, 8);
        assert_eq!(model.misses(), [[1, 1, 1]; 2]);
    }
}

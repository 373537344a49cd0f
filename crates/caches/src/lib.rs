//! A model of processors' caches for the laboratory.
//!
//! In the emulator (crates/caches-plugin) the [model] sees every instruction and every access to
//! memory, by virtual addresses; no prefetcher, no TLB, no speculation. So its figures compare
//! programs within one run, and are no real machine's.
//!
//! The plugin also counts [instructions] by where they are.
//!
//! A program in the machine executes [`mark`] where a window begins or ends. The plugin appends the
//! counts so far to a file each time: [`read_marks`] reads it.

pub mod cache;
pub mod instructions;
pub mod model;

use std::path::Path;
use std::{fs, io};

use instructions::{Instructions, PARTS};
use model::{COUNTED, Misses, SHAPES};

/// The instruction of a mark: it changes nothing, and compilers do not use it.
pub const MARK: [u8; 3] = [0x4d, 0x87, 0xdb];

/// The file that the emulator loads, beside the laboratory's program.
pub const FILE_NAME: &str = "libtakt_caches.so";

/// Begin or end a window. Without the plugin it does nothing.
pub fn mark() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it exchanges a register with itself.
    unsafe {
        std::arch::asm!("xchg r11, r11", options(nomem, nostack, preserves_flags));
    }
}

/// The counts so far, when a mark was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// By the model of caches.
    pub misses: Misses,
    /// Of the kernel, part by part.
    pub instructions: Instructions,
}

const NUMBERS: usize = SHAPES.len() * COUNTED.len() + PARTS.len();

impl Mark {
    /// As it is in the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = self.misses.iter().flatten().chain(&self.instructions);
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    }

    fn new(numbers: &[u64]) -> Self {
        let mut mark = Self::default();
        let into = mark.misses.iter_mut().flatten();
        for (into, from) in into.chain(&mut mark.instructions).zip(numbers) {
            *into = *from;
        }
        mark
    }
}

/// The counts at each mark, in their order.
///
/// # Errors
/// If the file cannot be read.
pub fn read_marks(path: &Path) -> io::Result<Vec<Mark>> {
    const NUMBER: usize = size_of::<u64>();
    let bytes = fs::read(path)?;
    let numbers: Vec<u64> = bytes
        .chunks_exact(NUMBER)
        .map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default()))
        .collect();
    Ok(numbers.chunks_exact(NUMBERS).map(Mark::new).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn marks_are_read_as_they_were_written() {
        let mark = Mark {
            misses: [[1, 2, 3], [4, 5, 6]],
            instructions: [7, 8],
        };
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for mark in [Mark::default(), mark] {
            file.write_all(&mark.to_bytes()).unwrap();
        }
        assert_eq!(read_marks(file.path()).unwrap(), [Mark::default(), mark]);
    }
}

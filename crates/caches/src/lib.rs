//! A model of processors' caches for the laboratory.
//!
//! In the emulator (crates/caches-plugin) the [model] sees every instruction and every access to
//! memory, by virtual addresses; no prefetcher, no TLB, no speculation. So its figures compare
//! programs within one run, and are no real machine's.
//!
//! A program in the machine executes [`mark`] where a window begins or ends. The plugin appends the
//! misses so far to a file each time: [`read_marks`] reads it.

pub mod cache;
pub mod model;

use std::path::Path;
use std::{fs, io};

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

/// The misses at each mark, in their order.
///
/// # Errors
/// If the file cannot be read.
pub fn read_marks(path: &Path) -> io::Result<Vec<Misses>> {
    const NUMBER: usize = size_of::<u64>();
    let bytes = fs::read(path)?;
    let numbers: Vec<u64> = bytes
        .chunks_exact(NUMBER)
        .map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default()))
        .collect();
    let marks = numbers.chunks_exact(SHAPES.len() * COUNTED.len());
    Ok(marks
        .map(|mark| {
            let mut misses = Misses::default();
            for (into, from) in misses.iter_mut().flatten().zip(mark) {
                *into = *from;
            }
            misses
        })
        .collect())
}

//! Random numbers of the kernel's, for salts, instances and jitter.

use std::{fs::File, io::Read};

/// Eight bytes.
fn number() -> u64 {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
    match read {
        Ok(()) => u64::from_le_bytes(bytes),
        // A hash with keys that differ for each: good enough where this may happen.
        Err(_) => {
            use std::hash::{BuildHasher, RandomState};
            RandomState::new().hash_one(std::process::id())
        }
    }
}

/// From 0 to below `end`.
pub fn below(end: u64) -> u64 {
    number() % end.max(1)
}

/// A word of 16 hexadecimal digits.
pub fn word() -> String {
    format!("{:016x}", number())
}

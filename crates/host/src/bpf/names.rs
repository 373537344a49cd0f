//! Names in the form of BPF programs.

use std::ffi::c_char;

use takt_algo::sys::{TAKT_COMM_BYTES, TAKT_FNV_BASIS, TAKT_FNV_PRIME};

/// A thread's name: the first 15 bytes and zeros, as the kernel keeps names of tasks.
pub(crate) fn padded(name: &str) -> [u64; 2] {
    let mut bytes = [0; TAKT_COMM_BYTES as usize];
    let kept = name.len().min(bytes.len() - 1);
    bytes[..kept].copy_from_slice(&name.as_bytes()[..kept]);
    let (words, _) = bytes.as_chunks::<8>();
    [0, 1].map(|word| u64::from_ne_bytes(words[word]))
}

/// A control group's name or path, as BPF programs compare them.
pub(crate) fn fnv1a(text: &str) -> u64 {
    // The basis is unsigned in C.
    text.bytes().fold(TAKT_FNV_BASIS as u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(TAKT_FNV_PRIME)
    })
}

/// What a program wrote, up to its first zero.
pub(crate) fn text(chars: &[c_char]) -> String {
    let bytes = chars.iter().map(|c| *c as u8).take_while(|byte| *byte != 0);
    let text: Vec<u8> = bytes.collect();
    String::from_utf8_lossy(&text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hash_as_published() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }
}

//! IP addresses in the form of BPF programs: words in network byte order, IPv4 in the first.

use std::net::{Ipv4Addr, Ipv6Addr};

pub(crate) fn ipv4(words: &[u32; 4]) -> Ipv4Addr {
    words[0].to_ne_bytes().into()
}

pub(crate) fn ipv6(words: &[u32; 4]) -> Ipv6Addr {
    let mut bytes = [0; 16];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    bytes.into()
}

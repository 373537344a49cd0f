//! `algo/headers.h`.

use crate::sys;

/// The key of a packet whose network header (or first VLAN tag, if `ethertype`
/// is a VLAN's) begins `packet`.
pub fn read_key(ethertype: u16, packet: &[u8], mark: u32) -> sys::takt_key {
    let mut key = sys::takt_key {
        mark,
        ..Default::default()
    };
    // The C side expects headers where the kernel puts them: aligned to four.
    let mut aligned = vec![0u32; packet.len().div_ceil(4)];
    // SAFETY: the vector spans at least as many bytes as the packet.
    let packet = unsafe {
        let copy = aligned.as_mut_ptr().cast::<u8>();
        copy.copy_from_nonoverlapping(packet.as_ptr(), packet.len());
        std::slice::from_raw_parts(copy, packet.len())
    };
    let range = packet.as_ptr_range();
    // SAFETY: the C side reads below `end` only.
    unsafe {
        sys::takt_key_read(&mut key, ethertype, range.start as u64, range.end as u64, 1);
    }
    key
}

//! `algo/headers.h`.

use crate::sys;

/// The key of a packet whose network header (or first VLAN tag, if `ethertype`
/// is a VLAN's) begins `packet`.
pub fn read_key(ethertype: u16, packet: &[u8], mark: u32) -> sys::takt_key {
    let mut key = sys::takt_key {
        mark,
        ..Default::default()
    };
    let range = packet.as_ptr_range();
    // SAFETY: the C side reads below `end` only.
    unsafe {
        sys::takt_key_read(&mut key, ethertype, range.start as u64, range.end as u64);
    }
    key
}

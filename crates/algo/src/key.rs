//! `algo/headers.h`.

use crate::sys;

/// The key of a packet that begins with its network header, or with its first VLAN tag if
/// `ethertype` is a VLAN's.
pub fn read_key(ethertype: u16, packet: &[u8], mark: u32) -> sys::takt_key {
    let mut key = sys::takt_key {
        mark,
        ..Default::default()
    };
    // SAFETY: the C side reads below `end` only.
    aligned(packet, |at, end| unsafe {
        sys::takt_key_read(&mut key, ethertype, at, end, 1);
    });
    key
}

/// The ECN field of such a packet, in the numbers of `algo/ecn.h`.
pub fn read_ecn(ethertype: u16, packet: &[u8]) -> u32 {
    // SAFETY: the C side reads below `end` only.
    aligned(packet, |at, end| unsafe {
        sys::takt_ecn_read(ethertype, at, end)
    })
}

/// Where the header of IP is in such a packet: its ethertype, and how many bytes come before. Another
/// ethertype: there is none.
pub fn ip_at(ethertype: u16, packet: &[u8]) -> (u16, u32) {
    // SAFETY: the C side reads below `end` only.
    let found = aligned(packet, |at, end| unsafe {
        sys::takt_ip_at(ethertype, at, end)
    });
    ((found >> 16) as u16, found & 0xffff)
}

/// The first 16 bits of a header of IP with this DSCP (`algo/dscp.h`).
pub fn with_dscp(first: u16, ethertype: u16, dscp: u8) -> u16 {
    // SAFETY: a function of numbers.
    unsafe { sys::takt_dscp_set(first.into(), ethertype, dscp.into()) as u16 }
}

/// Passes a packet's begin and end to the C side, which expects headers aligned to four bytes, as
/// the kernel places them.
fn aligned<T>(packet: &[u8], read: impl FnOnce(u64, u64) -> T) -> T {
    let mut aligned = vec![0u32; packet.len().div_ceil(4)];
    // SAFETY: the vector spans at least as many bytes as the packet.
    let packet = unsafe {
        let copy = aligned.as_mut_ptr().cast::<u8>();
        copy.copy_from_nonoverlapping(packet.as_ptr(), packet.len());
        std::slice::from_raw_parts(copy, packet.len())
    };
    let range = packet.as_ptr_range();
    read(range.start as u64, range.end as u64)
}

/// Whether packets of this protocol begin with two ports.
pub fn has_ports(proto: u8) -> bool {
    // SAFETY: a function of a number.
    unsafe { sys::takt_has_ports(proto) != 0 }
}

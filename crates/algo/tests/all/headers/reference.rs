//! The specification of a packet's key, with slices that know their length.

use takt_algo::sys::{self, takt_key};

const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE: u16 = 0x8864;
const PROTOS_WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;

pub fn key(ethertype: u16, packet: &[u8]) -> takt_key {
    let (ethertype, packet) = behind_shims(ethertype, packet);
    let key = match ethertype {
        0x0800 => ipv4(packet),
        0x86dd => ipv6(packet),
        _ => None,
    };
    key.unwrap_or_default()
}

/// What is behind VLAN tags, labels and PPPoE headers.
fn behind_shims(mut ethertype: u16, mut packet: &[u8]) -> (u16, &[u8]) {
    for _ in 0..sys::TAKT_SHIMS_MAX {
        (ethertype, packet) = match (ethertype, packet) {
            (VLAN | SERVICE_VLAN, [_, _, high, low, rest @ ..]) => {
                (u16::from_be_bytes([*high, *low]), rest)
            }
            (MPLS | MPLS_MULTICAST, [_, _, label, _, rest @ ..]) => match label & 1 {
                0 => (ethertype, rest),
                _ => (version(rest), rest),
            },
            (PPPOE, [0x11, 0, _, _, _, _, 0x00, 0x21, rest @ ..]) => (0x0800, rest),
            (PPPOE, [0x11, 0, _, _, _, _, 0x00, 0x57, rest @ ..]) => (0x86dd, rest),
            _ => break,
        };
    }
    (ethertype, packet)
}

/// By the first bits; the kernel side reads a whole row.
fn version(packet: &[u8]) -> u16 {
    match packet {
        [first, _, _, _, ..] if first >> 4 == 4 => 0x0800,
        [first, _, _, _, ..] if first >> 4 == 6 => 0x86dd,
        _ => 0,
    }
}

fn ipv4(packet: &[u8]) -> Option<takt_key> {
    let header = packet.get(..20)?;
    let header_bytes = usize::from(header[0] & 15) * 4;
    let more_or_offset = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    if header[0] >> 4 != 4 || header_bytes < 20 || more_or_offset != 0 {
        return None;
    }
    let mut key = takt_key {
        family: 4,
        dscp: header[1] >> 2,
        proto: header[9],
        src: words(&header[12..16]),
        dst: words(&header[16..20]),
        ..takt_key::default()
    };
    add_ports(&mut key, packet.get(header_bytes..));
    Some(key)
}

fn ipv6(packet: &[u8]) -> Option<takt_key> {
    let header = packet.get(..40)?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let mut proto = header[6];
    let mut rest = packet.get(40..);
    let mut skipped = 0;
    while EXTENSIONS.contains(&proto) {
        // The kernel side reads a whole row, of which these are the first two.
        let extension = rest.filter(|rest| rest.len() >= 4)?;
        if skipped == sys::TAKT_EXTENSIONS_MAX {
            return None;
        }
        skipped += 1;
        proto = extension[0];
        rest = extension.get((usize::from(extension[1]) + 1) * 8..);
    }
    if proto == FRAGMENT {
        return None;
    }
    let mut key = takt_key {
        family: 6,
        dscp: (u16::from_be_bytes([header[0], header[1]]) >> 6 & 63) as u8,
        proto,
        src: words(&header[8..24]),
        dst: words(&header[24..40]),
        ..takt_key::default()
    };
    add_ports(&mut key, rest);
    Some(key)
}

/// `rest` is `None` if the packet was cut before its transport header.
fn add_ports(key: &mut takt_key, rest: Option<&[u8]>) {
    if !PROTOS_WITH_PORTS.contains(&key.proto) {
        return;
    }
    if let Some([src_high, src_low, dst_high, dst_low, ..]) = rest {
        key.src_port = u16::from_be_bytes([*src_high, *src_low]);
        key.dst_port = u16::from_be_bytes([*dst_high, *dst_low]);
        key.has_ports = 1;
    }
}

/// An address as it is in the packet, in words of the machine.
fn words(octets: &[u8]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().zip(octets.chunks_exact(4)) {
        *word = u32::from_ne_bytes(chunk.try_into().unwrap());
    }
    words
}

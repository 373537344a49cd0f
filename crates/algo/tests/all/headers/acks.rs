//! Acknowledgements to read, and what they say by a reference over slices of bytes.

use proptest::prelude::*;
use takt_algo::sys::takt_ack;

use super::guarded::Guarded;

pub const ACK: u16 = 0x010;
pub const ECE: u16 = 0x040;
pub const CWR: u16 = 0x080;
pub const AE: u16 = 0x100;

/// A pure acknowledgement, as its sender sees it.
#[derive(Debug, Clone)]
pub struct Packet {
    pub is_ipv6: bool,
    pub tos: u8,
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
    /// More fragments follow (IPv4), or a fragment header is there (IPv6).
    pub is_fragment: bool,
}

impl Default for Packet {
    fn default() -> Self {
        Self {
            is_ipv6: false,
            tos: 0,
            seq: 1000,
            ack: 5000,
            flags: ACK,
            window: 400,
            options: Vec::new(),
            payload: Vec::new(),
            is_fragment: false,
        }
    }
}

/// NOP, NOP, timestamps.
pub fn stamps(stamp: u32, echo: u32) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10];
    options.extend(stamp.to_be_bytes());
    options.extend(echo.to_be_bytes());
    options
}

/// NOP, NOP, SACK.
pub fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
    let mut options = vec![1, 1, 5, 2 + 8 * blocks.len() as u8];
    for (left, right) in blocks {
        options.extend(left.to_be_bytes());
        options.extend(right.to_be_bytes());
    }
    options
}

impl Packet {
    pub fn with(options: Vec<u8>) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    pub fn ethertype(&self) -> u16 {
        if self.is_ipv6 { 0x86dd } else { 0x0800 }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let header = 20 + options.len();
        let mut tcp = vec![0x13, 0x88, 0x9c, 0x40];
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend(((header as u16 / 4) << 12 | self.flags).to_be_bytes());
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.extend(&self.payload);
        let mut packet = Vec::new();
        if self.is_ipv6 {
            let extra = if self.is_fragment { 8 } else { 0 };
            packet.extend((6 << 28 | u32::from(self.tos) << 20).to_be_bytes());
            packet.extend((tcp.len() as u16 + extra).to_be_bytes());
            packet.extend([if self.is_fragment { 44 } else { 6 }, 64]);
            packet.extend([0x20; 32]);
            if self.is_fragment {
                packet.extend([6, 0, 0, 1, 0, 0, 0, 9]);
            }
        } else {
            packet.extend([0x45, self.tos]);
            packet.extend((20 + tcp.len() as u16).to_be_bytes());
            packet.extend([0, 0, if self.is_fragment { 0x20 } else { 0x40 }, 0]);
            packet.extend([64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        packet.extend(tcp);
        packet
    }

    pub fn read(&self) -> Option<takt_ack> {
        read(self.ethertype(), &self.bytes())
    }
}

/// Reads it where bytes behind the packet cannot be read, or are `slack`.
pub fn read(ethertype: u16, bytes: &[u8]) -> Option<takt_ack> {
    let [zeros, ones] = [0x00, 0xff].map(|slack| Guarded::new(bytes, slack).read_ack(ethertype));
    assert_eq!(zeros, ones);
    zeros
}

/// What the reference reads: options one after the other, each a slice.
pub fn reference(packet: &Packet) -> Option<takt_ack> {
    if !packet.payload.is_empty() || packet.is_fragment {
        return None;
    }
    if packet.flags & !(AE | CWR | ECE) != ACK {
        return None;
    }
    let mut ack = takt_ack {
        seq: packet.seq,
        ack: packet.ack,
        window: packet.window,
        congestion: packet.flags & (AE | CWR | ECE),
        tos: packet.tos,
        ..takt_ack::default()
    };
    let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let mut options = packet.options.clone();
    options.resize(options.len().next_multiple_of(4), 0);
    let mut rest = options.as_slice();
    while let Some(kind) = rest.first() {
        match kind {
            0 => break,
            1 => {
                rest = &rest[1..];
                continue;
            }
            _ => {}
        }
        let len = usize::from(*rest.get(1)?);
        let value = rest.get(2..len)?;
        rest = &rest[len..];
        match (kind, value.len()) {
            (8, 8) if ack.has_stamps == 0 => {
                (ack.stamp, ack.echo) = (word(&value[..4]), word(&value[4..]));
                ack.has_stamps = 1;
            }
            (5, 8 | 16 | 24 | 32) if ack.blocks == 0 => {
                for (at, block) in value.chunks(8).enumerate() {
                    (ack.left[at], ack.right[at]) = (word(&block[..4]), word(&block[4..]));
                    if (ack.left[at].wrapping_sub(ack.right[at]) as i32) >= 0 {
                        return None;
                    }
                }
                ack.blocks = (value.len() / 8) as u8;
            }
            _ => return None,
        }
    }
    Some(ack)
}

/// Mostly options that exist, and some noise.
fn options() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(vec![1]),
        1 => Just(vec![0]),
        3 => any::<[u8; 8]>().prop_map(|value| [&[8, 10], &value[..]].concat()),
        3 => prop::collection::vec((any::<u32>(), 1..100_000u32), 1..4).prop_map(|blocks| {
            let blocks = blocks.iter().map(|(left, size)| (*left, left.wrapping_add(*size)));
            sack(&blocks.collect::<Vec<_>>())[2..].to_vec()
        }),
        1 => prop::collection::vec(any::<u8>(), 1..12),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| {
        let mut options = pieces.concat();
        options.truncate(40);
        options
    })
}

pub fn packet() -> impl Strategy<Value = Packet> {
    let flags = prop_oneof![
        4 => Just(ACK),
        2 => prop::sample::select(vec![ECE, CWR, AE]).prop_map(|flag| ACK | flag),
        1 => 0..0x1000_u16,
    ];
    let payload = prop_oneof![4 => Just(vec![]), 1 => prop::collection::vec(any::<u8>(), 1..9)];
    let is_fragment = prop::bool::weighted(0.1);
    let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u8>());
    (
        any::<bool>(),
        numbers,
        flags,
        options(),
        payload,
        is_fragment,
    )
        .prop_map(
            |(is_ipv6, (seq, ack, window, tos), flags, options, payload, is_fragment)| Packet {
                is_ipv6,
                tos,
                seq,
                ack,
                flags,
                window,
                options,
                payload,
                is_fragment,
            },
        )
}

/// Bytes that begin as a packet, and the protocol that they are said to be of.
pub fn noise() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let ethertype = prop::sample::select(vec![0x0800, 0x86dd, 0x8100, 0x0806]);
    let flips = prop::collection::vec((0..100_usize, any::<u8>()), 0..4);
    (ethertype, packet(), flips, 0..120_usize).prop_map(|(ethertype, packet, flips, cut)| {
        let mut bytes = packet.bytes();
        for (at, bits) in flips {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= bits;
            }
        }
        bytes.truncate(cut);
        (ethertype, bytes)
    })
}

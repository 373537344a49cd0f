//! Packets, plausible and not.

use proptest::prelude::*;

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|char| char.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect()
}

pub fn ethertype() -> impl Strategy<Value = u16> {
    prop_oneof![
        4 => Just(0x0800),
        4 => Just(0x86dd),
        2 => Just(0x8100),
        1 => Just(0x88a8),
        1 => Just(0x8847),
        1 => Just(0x8848),
        1 => Just(0x8864),
        1 => Just(0x0806),
        1 => any::<u16>(),
    ]
}

/// A protocol above IP, with ports or without.
fn proto() -> impl Strategy<Value = u8> {
    prop_oneof![
        6 => prop::sample::select(vec![6, 17, 33, 132, 136]),
        2 => prop::sample::select(vec![0, 1, 41, 43, 44, 47, 50, 51, 58, 59, 60]),
        1 => any::<u8>(),
    ]
}

fn bytes(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), len)
}

fn ipv4() -> impl Strategy<Value = Vec<u8>> {
    let more = prop_oneof![Just(0x2000u16), any::<u16>()];
    let fragment = prop_oneof![4 => Just(0x4000u16), 2 => Just(0), 1 => more];
    let words = prop_oneof![6 => Just(5u8), 2 => 6..=15u8, 1 => 0..5u8];
    (words, fragment, proto(), bytes(20), bytes(0..60)).prop_map(
        |(words, fragment, proto, mut header, rest)| {
            header[0] = 4 << 4 | words;
            header[6..8].copy_from_slice(&fragment.to_be_bytes());
            header[9] = proto;
            header.extend(rest);
            header
        },
    )
}

/// The chain of extension headers, and the protocol after it.
fn ipv6() -> impl Strategy<Value = Vec<u8>> {
    let extension = (
        prop::sample::select(vec![0u8, 43, 60, 0, 43, 60, 44]),
        0..3u8,
        bytes(24),
    );
    (
        prop::collection::vec(extension, 0..9),
        proto(),
        bytes(40),
        bytes(0..30),
    )
        .prop_map(|(extensions, proto, mut packet, rest)| {
            packet[0] = 6 << 4 | packet[0] & 15;
            let mut next_at = 6;
            for (kind, eights, body) in extensions {
                packet[next_at] = kind;
                next_at = packet.len();
                packet.extend(&body[..8 + usize::from(eights) * 8]);
                packet[next_at + 1] = eights;
            }
            packet[next_at] = proto;
            packet.extend(rest);
            packet
        })
}

/// With its ethertype, and perhaps some of what may be between the link's header and IP's.
pub fn packet() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let ip = prop_oneof![
        ipv4().prop_map(|packet| (0x0800u16, packet)),
        ipv6().prop_map(|packet| (0x86ddu16, packet)),
    ];
    let shims = prop::sample::select(vec![0x8100u16, 0x88a8, 0x8847, 0x8848, 0x8864]);
    let shims = prop::collection::vec((shims, any::<u16>()), 0..8);
    (ip, shims).prop_map(|(packet, shims)| shims.into_iter().fold(packet, behind))
}

/// Behind another header, of which some bits are given.
fn behind((inner, packet): (u16, Vec<u8>), (outer, bits): (u16, u16)) -> (u16, Vec<u8>) {
    let [high, low] = bits.to_be_bytes();
    let header = match outer {
        0x8847 | 0x8848 => {
            let is_bottom = u8::from(inner != outer);
            vec![high, low, 0xf0 | is_bottom, 64]
        }
        0x8864 => {
            let proto = match inner {
                0x0800 => [0x00, 0x21],
                0x86dd => [0x00, 0x57],
                _ => [high, low],
            };
            [&[0x11, 0, 0, 1, 0, 0][..], &proto].concat()
        }
        _ => [[high, low], inner.to_be_bytes()].concat(),
    };
    (outer, [header, packet].concat())
}

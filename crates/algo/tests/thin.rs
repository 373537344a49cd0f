//! Thinning: what is read of a packet, and which acknowledgement may replace which, against a
//! reference over slices of bytes; and in a link's queues.

use proptest::prelude::*;
use takt_algo::sys::{self, takt_ack, takt_key};

const ACK: u16 = 0x010;
const ECE: u16 = 0x040;
const CWR: u16 = 0x080;
const AE: u16 = 0x100;

/// A pure acknowledgement, as its sender sees it.
#[derive(Debug, Clone)]
struct Packet {
    is_ipv6: bool,
    tos: u8,
    seq: u32,
    ack: u32,
    flags: u16,
    window: u16,
    options: Vec<u8>,
    payload: Vec<u8>,
    /// More fragments follow (IPv4), or a fragment header is there (IPv6).
    is_fragment: bool,
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
fn stamps(stamp: u32, echo: u32) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10];
    options.extend(stamp.to_be_bytes());
    options.extend(echo.to_be_bytes());
    options
}

/// NOP, NOP, SACK.
fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
    let mut options = vec![1, 1, 5, 2 + 8 * blocks.len() as u8];
    for (left, right) in blocks {
        options.extend(left.to_be_bytes());
        options.extend(right.to_be_bytes());
    }
    options
}

impl Packet {
    fn with(options: Vec<u8>) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    fn ethertype(&self) -> u16 {
        if self.is_ipv6 { 0x86dd } else { 0x0800 }
    }

    fn bytes(&self) -> Vec<u8> {
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

    fn read(&self) -> Option<takt_ack> {
        read(self.ethertype(), &self.bytes())
    }
}

/// Reads the packet from memory of exactly its length, so that Valgrind and the allocator's guards
/// find what is read beyond it.
fn read(ethertype: u16, bytes: &[u8]) -> Option<takt_ack> {
    let mut rows = vec![0xffff_ffff_u32; bytes.len().div_ceil(4)];
    let start = rows.as_mut_ptr();
    // SAFETY: the rows have room for all of the bytes.
    unsafe { start.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
    let (mut ack, mut key) = (takt_ack::default(), takt_key::default());
    let at = start as u64;
    // SAFETY: readable from `at` on; the reader keeps to rows that begin before the end.
    let is_pure = unsafe {
        sys::takt_ack_read(&mut ack, &mut key, ethertype, at, at + bytes.len() as u64) != 0
    };
    ack.next = 0;
    is_pure.then_some(ack)
}

fn replaces(older: &takt_ack, newer: &takt_ack) -> bool {
    // SAFETY: two valid structs.
    unsafe { sys::takt_thin_replaces(older, newer) != 0 }
}

/// What the reference reads: options one after the other, each a slice.
fn reference(packet: &Packet) -> Option<takt_ack> {
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

fn packet() -> impl Strategy<Value = Packet> {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn packets_are_read_as_the_reference_reads_them(packet in packet()) {
        prop_assert_eq!(packet.read(), reference(&packet));
    }

    #[test]
    fn noise_is_no_acknowledgement_that_reads_beyond_its_end(
        ethertype in prop::sample::select(vec![0x0800, 0x86dd, 0x8100, 0x0806]),
        packet in packet(),
        flips in prop::collection::vec((0..100usize, any::<u8>()), 0..4),
        cut in 0..120usize,
    ) {
        let mut bytes = packet.bytes();
        for (at, bits) in flips {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= bits;
            }
        }
        bytes.truncate(cut);
        read(ethertype, &bytes);
    }

    /// Against a set of sequence numbers: the older one's are all in the newer one.
    #[test]
    fn sack_is_covered_as_sets_are(
        base in any::<u32>(),
        newer_ack in 0..40u32,
        older in prop::collection::vec((1..40u32, 1..10u32), 0..4),
        newer in prop::collection::vec((1..40u32, 1..10u32), 0..4),
    ) {
        let place = |blocks: &[(u32, u32)]| -> Vec<(u32, u32)> {
            blocks.iter().map(|(left, size)| (*left, left + size)).collect()
        };
        let (older, newer) = (place(&older), place(&newer));
        let make = |ack: u32, blocks: &[(u32, u32)]| {
            let at = |seq: u32| base.wrapping_add(seq);
            let blocks: Vec<_> = blocks.iter().map(|(l, r)| (at(*l), at(*r))).collect();
            let options = if blocks.is_empty() { vec![] } else { sack(&blocks) };
            Packet { ack: base.wrapping_add(ack), options, ..Packet::default() }
                .read()
                .unwrap()
        };
        let is_dsack = match older[..] {
            [first, second, ..] => first.0 >= second.0 && first.1 <= second.1,
            _ => false,
        };
        // One block of the newer one has all of a block, as a receiver reports it.
        let covered = older.iter().all(|(left, right)| {
            *right <= newer_ack || newer.iter().any(|(l, r)| l <= left && right <= r)
        });
        let expected = newer_ack > 0 && covered && !is_dsack;
        prop_assert_eq!(replaces(&make(0, &older), &make(newer_ack, &newer)), expected);
    }
}

/// An acknowledgement with a timestamp, and its successor.
fn pair() -> [Packet; 2] {
    [(5000, 70), (8000, 71)].map(|(ack, stamp)| Packet {
        ack,
        ..Packet::with(stamps(stamp, 30))
    })
}

#[test]
fn a_newer_one_replaces_an_older_one() {
    for is_ipv6 in [false, true] {
        let [older, newer] = pair().map(|packet| Packet { is_ipv6, ..packet }.read().unwrap());
        assert!(replaces(&older, &newer));
        assert!(!replaces(&newer, &older));
        assert!(!replaces(&older, &older), "it is one that a sender counts");
    }
}

#[test]
fn each_condition_alone_refuses() {
    let [older, newer] = pair();
    let (first, next) = (older.read().unwrap(), newer.clone());
    let refused: [(&str, Packet); 14] = [
        (
            "its number is the same",
            Packet {
                ack: 5000,
                ..next.clone()
            },
        ),
        (
            "its number is older",
            Packet {
                ack: 4999,
                ..next.clone()
            },
        ),
        (
            "data lies between",
            Packet {
                seq: 1001,
                ..next.clone()
            },
        ),
        (
            "keepalive",
            Packet {
                seq: 999,
                ..next.clone()
            },
        ),
        (
            "its window is smaller",
            Packet {
                window: 399,
                ..next.clone()
            },
        ),
        (
            "ECE",
            Packet {
                flags: ACK | ECE,
                ..next.clone()
            },
        ),
        (
            "CWR",
            Packet {
                flags: ACK | CWR,
                ..next.clone()
            },
        ),
        (
            "AE",
            Packet {
                flags: ACK | AE,
                ..next.clone()
            },
        ),
        (
            "DSCP",
            Packet {
                tos: 0x20,
                ..next.clone()
            },
        ),
        (
            "ECN",
            Packet {
                tos: 1,
                ..next.clone()
            },
        ),
        (
            "its timestamp is older",
            Packet {
                options: stamps(69, 30),
                ..next.clone()
            },
        ),
        (
            "its echo is older",
            Packet {
                options: stamps(71, 29),
                ..next.clone()
            },
        ),
        (
            "it has no timestamp",
            Packet {
                options: vec![],
                ..next.clone()
            },
        ),
        (
            "its number is half of all ahead",
            Packet {
                ack: 5000 + (1 << 31),
                ..next.clone()
            },
        ),
    ];
    for (why, packet) in refused {
        assert!(!replaces(&first, &packet.read().unwrap()), "{why}");
    }
    let other_flow = takt_ack {
        flow: 1,
        ..next.read().unwrap()
    };
    assert!(!replaces(&first, &other_flow));

    for (name, flag) in [
        ("FIN", 1),
        ("SYN", 2),
        ("RST", 4),
        ("PSH", 8),
        ("URG", 0x20),
    ] {
        let packet = Packet {
            flags: ACK | flag,
            ..next.clone()
        };
        assert!(packet.read().is_none(), "{name}");
    }
    let data = Packet {
        payload: vec![1],
        ..next.clone()
    };
    assert!(data.read().is_none());
    let fragment = Packet {
        is_fragment: true,
        ..next.clone()
    };
    assert!(fragment.read().is_none());
    for (name, option) in [
        ("MSS", vec![2, 4, 5, 0xb4]),
        ("MPTCP", vec![30, 4, 0, 0]),
        ("AccECN", vec![172, 5, 0, 0, 1]),
        ("MD5", [vec![19, 18], vec![0; 16]].concat()),
        ("no length", vec![9, 0, 0, 0]),
        ("beyond its end", vec![8, 10, 0, 0]),
    ] {
        assert!(Packet::with(option).read().is_none(), "{name}");
    }
}

#[test]
fn numbers_wrap() {
    let [older, newer] = [u32::MAX - 10, 10].map(|number| Packet {
        ack: number,
        ..Packet::with(stamps(number, number))
    });
    assert!(replaces(&older.read().unwrap(), &newer.read().unwrap()));
}

#[test]
fn what_sack_says_is_not_lost() {
    let with = |ack: u32, blocks: &[(u32, u32)]| {
        let packet = Packet {
            ack,
            ..Packet::with(sack(blocks))
        };
        packet.read().unwrap()
    };
    let hole = with(5000, &[(6000, 7000), (8000, 9000)]);
    assert!(replaces(&hole, &with(5500, &[(8000, 9500), (6000, 7000)])));
    assert!(replaces(&hole, &with(7500, &[(8000, 9000)])));
    assert!(replaces(
        &hole,
        &Packet {
            ack: 9000,
            ..Packet::default()
        }
        .read()
        .unwrap()
    ));
    assert!(!replaces(&hole, &with(7500, &[(8000, 8999)])));
    assert!(!replaces(&hole, &with(5500, &[(6000, 7000)])));
    // Data below its number, or within the second block, arrived twice.
    assert!(!replaces(
        &with(5000, &[(4000, 4500)]),
        &with(6000, &[(4000, 4500)])
    ));
    let twice = with(5000, &[(6000, 6500), (6000, 7000)]);
    assert!(!replaces(&twice, &with(7000, &[(7500, 8000)])));
}

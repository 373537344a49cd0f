//! Pure acknowledgements: what is read of a packet, against a reference over slices of bytes, and
//! which may replace which.

use proptest::prelude::*;
use takt_algo::sys::{self, takt_ack};

use super::acks::{ACK, AE, CWR, ECE, Packet, noise, packet, read, reference, sack, stamps};

fn replaces(older: &takt_ack, newer: &takt_ack) -> bool {
    // SAFETY: two valid structs.
    unsafe { sys::takt_thin_replaces(older, newer) != 0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn packets_are_read_as_the_reference_reads_them(packet in packet()) {
        prop_assert_eq!(packet.read(), reference(&packet));
    }

    #[test]
    fn no_noise_is_read_beyond_its_end((ethertype, bytes) in noise()) {
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
                ack: 5001 + (1 << 31),
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

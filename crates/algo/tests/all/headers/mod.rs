//! Reading headers: against a parser that indexes slices, and on memory that faults behind the
//! packet.

mod acks;
mod guarded;
mod packets;
mod reference;
mod segment;
mod thin;

use proptest::prelude::*;
use takt_algo::sys::{
    TAKT_PORT_DESTINATION, TAKT_PORT_NONE, TAKT_PORT_SOURCE, TAKT_PORTS, takt_key, takt_key_reverse,
};

use guarded::Guarded;

/// Reads the key where bytes behind the packet cannot be read, or are `slack`.
fn read(ethertype: u16, packet: &[u8], slack: u8, addresses: bool) -> takt_key {
    Guarded::new(packet, slack).read_key(ethertype, addresses)
}

fn check(ethertype: u16, packet: &[u8]) {
    let expected = reference::key(ethertype, packet);
    for slack in [0x00, 0xff] {
        let key = read(ethertype, packet, slack, true);
        assert_eq!(key, expected, "of {packet:02x?}");
    }
    let without = read(ethertype, packet, 0, false);
    let expected = takt_key {
        src: [0; 4],
        dst: [0; 4],
        ..expected
    };
    assert_eq!(without, expected);
    check_places(ethertype, packet, &expected);
}

/// A packet with ports has a place by them, unless its headers are unusual; no other has one.
fn check_places(ethertype: u16, packet: &[u8], key: &takt_key) {
    let is_plain = match ethertype {
        0x0800 => packet.first() == Some(&0x45),
        0x86dd => packet.get(6) == Some(&key.proto),
        _ => false,
    };
    let first = match key.proto {
        17 => 0,
        6 => TAKT_PORTS,
        _ => TAKT_PORT_NONE,
    };
    for (which, port) in [
        (TAKT_PORT_SOURCE, key.src_port),
        (TAKT_PORT_DESTINATION, key.dst_port),
    ] {
        let expected = if is_plain && key.has_ports == 1 && first != TAKT_PORT_NONE {
            first + u32::from(port)
        } else {
            TAKT_PORT_NONE
        };
        let place = Guarded::new(packet, 0xff).port_place(ethertype, which);
        assert_eq!(place, expected, "of {packet:02x?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn noise_is_read_as_the_reference_reads_it(
        ethertype in packets::ethertype(),
        packet in prop::collection::vec(any::<u8>(), 0..128),
    ) {
        check(ethertype, &packet);
    }

    #[test]
    fn packets_are_read_as_the_reference_reads_them(
        (ethertype, packet) in packets::packet(),
        cut in prop_oneof![2 => Just(usize::MAX), 1 => 0..200usize],
        flipped in prop::collection::vec((0..120usize, any::<u8>()), 0..2),
    ) {
        let mut packet = packet;
        for (at, bits) in flipped {
            if let Some(byte) = packet.get_mut(at) {
                *byte ^= bits;
            }
        }
        packet.truncate(cut);
        check(ethertype, &packet);
    }
}

/// The generator above is useful only if most of its packets are parsed.
#[test]
fn well_known_packets() {
    let udp = packets::hex(
        "4500 0024 0001 4000 4011 0000 0a00 0001 0a00 0002 1388 13ec 0010 0000 0000 0000",
    );
    let key = takt_algo::read_key(0x0800, &udp, 7);
    assert_eq!((key.family, key.proto, key.dscp, key.mark), (4, 17, 0, 7));
    assert_eq!((key.src_port, key.dst_port, key.has_ports), (5000, 5100, 1));
    assert_eq!(key.src, [u32::from_ne_bytes([10, 0, 0, 1]), 0, 0, 0]);
    assert_eq!(key.dst, [u32::from_ne_bytes([10, 0, 0, 2]), 0, 0, 0]);

    // Priority 0, VLAN 5, then IPv6 with DSCP 46 and an empty hop-by-hop header.
    let tcp = packets::hex(
        "0005 86dd 6b80 0000 001c 0040 \
         2001 0db8 0000 0000 0000 0000 0000 0001 2001 0db8 0000 0000 0000 0000 0000 0002 \
         0600 0104 0000 0000 01bb c000 0000 0000 0000 0000 5002 0000 0000 0000",
    );
    let key = takt_algo::read_key(0x8100, &tcp, 0);
    assert_eq!((key.family, key.proto, key.dscp), (6, 6, 46));
    assert_eq!((key.src_port, key.dst_port, key.has_ports), (443, 49152, 1));
    assert_eq!(key.dst[3], u32::from_ne_bytes([0, 0, 0, 2]));

    // PPPoE of session 7, then UDP to port 5100; behind VLAN 5 as well.
    let session = [&packets::hex("1100 0007 0026 0021"), &*udp].concat();
    let tagged = [&packets::hex("0005 8864"), &*session].concat();
    for (ethertype, packet) in [(0x8864, &session), (0x88a8, &tagged)] {
        let key = takt_algo::read_key(ethertype, packet, 0);
        assert_eq!((key.family, key.proto, key.dst_port), (4, 17, 5100));
    }
    // Discovery, and a protocol field of one byte, are not read.
    for header in ["1109 0000 0026 0021", "1100 0007 0025 2145"] {
        let packet = [&packets::hex(header), &*udp].concat();
        assert_eq!(
            takt_algo::read_key(0x8864, &packet, 0).family,
            0,
            "{header}"
        );
    }
    // Two labels; and a bottom behind which there is no IP.
    let labelled = [&packets::hex("0006 4040 0006 5140"), &*udp].concat();
    let key = takt_algo::read_key(0x8847, &labelled, 0);
    assert_eq!((key.family, key.proto, key.dst_port), (4, 17, 5100));
    let ethernet = [&packets::hex("0006 5140 0000 0000"), &*udp].concat();
    assert_eq!(takt_algo::read_key(0x8847, &ethernet, 0).family, 0);

    let arp = packets::hex("0001 0800 0604 0001 0000 0000 0000 0a00 0001");
    assert_eq!(takt_algo::read_key(0x0806, &arp, 0).family, 0);
}

#[test]
fn an_answer_has_source_and_destination_exchanged() {
    let mut key = takt_key {
        src_port: 1,
        dst_port: 2,
        proto: 17,
        src: [3, 4, 5, 6],
        dst: [7, 8, 9, 10],
        ..takt_key::default()
    };
    let before = key;
    // SAFETY: a valid key.
    unsafe { takt_key_reverse(&raw mut key) };
    let expected = takt_key {
        src_port: 2,
        dst_port: 1,
        src: before.dst,
        dst: before.src,
        ..before
    };
    assert_eq!(key, expected);
}

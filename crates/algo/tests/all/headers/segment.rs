//! Segments of TCP with their options, against a reference over slices of bytes.

use proptest::prelude::*;
use takt_algo::sys::takt_segment;

use super::{
    acks::{ACK, Packet, noise, packet, stamps},
    guarded::Guarded,
};

const SYN: u16 = 0x002;

/// Reads it where bytes behind the packet cannot be read, or are `slack`.
fn read(ethertype: u16, bytes: &[u8]) -> Option<takt_segment> {
    let [zeros, ones] =
        [0x00, 0xff].map(|slack| Guarded::new(bytes, slack).read_segment(ethertype));
    assert_eq!(zeros, ones);
    zeros
}

fn reference(packet: &Packet) -> Option<takt_segment> {
    if packet.is_fragment {
        return None;
    }
    let mut segment = takt_segment {
        seq: packet.seq,
        ack: packet.ack,
        bytes: packet.payload.len() as u32,
        flags: packet.flags,
        window: packet.window,
        ..takt_segment::default()
    };
    let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let mut options = packet.options.clone();
    options.resize(options.len().next_multiple_of(4), 0);
    let mut rest = options.as_slice();
    while let Some(kind @ 1..) = rest.first() {
        if *kind == 1 {
            rest = &rest[1..];
            continue;
        }
        let len = usize::from(*rest.get(1)?);
        let value = rest.get(2..len)?;
        rest = &rest[len..];
        match (kind, value) {
            (8, [..]) if value.len() == 8 => {
                (segment.stamp, segment.echo) = (word(&value[..4]), word(&value[4..]));
                segment.has_stamps = 1;
            }
            (2, [high, low]) => segment.mss_bytes = u16::from_be_bytes([*high, *low]),
            (3, [scale]) => (segment.scale, segment.has_scale) = (*scale, 1),
            (19 | 29, _) => segment.is_signed = 1,
            _ => {}
        }
    }
    Some(segment)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn segments_are_read_as_the_reference_reads_them(
        packet in packet(),
        option in prop::sample::select(vec![
            vec![], vec![2, 4, 5, 180], vec![3, 3, 9], vec![19, 18], vec![29, 4, 1, 2], vec![3, 2],
        ]),
    ) {
        let mut packet = packet;
        packet.options.splice(0..0, option);
        packet.options.truncate(40);
        let read = read(packet.ethertype(), &packet.bytes());
        prop_assert_eq!(read, reference(&packet));
    }

    #[test]
    fn no_noise_is_read_beyond_its_end((ethertype, bytes) in noise()) {
        read(ethertype, &bytes);
    }
}

#[test]
fn an_opening_segment_says_how_windows_are_scaled() {
    let options = [&[2, 4, 5, 180, 1, 3, 3, 7][..], &stamps(7, 0)].concat();
    let packet = Packet {
        flags: SYN | ACK,
        is_ipv6: true,
        ..Packet::with(options)
    };
    let segment = read(packet.ethertype(), &packet.bytes()).unwrap();
    assert_eq!((segment.mss_bytes, segment.scale), (1460, 7));
    assert_eq!((segment.stamp, segment.has_stamps), (7, 1));
}

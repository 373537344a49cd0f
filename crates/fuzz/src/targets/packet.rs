//! A packet that is recorded: what is kept of it says the same of its flow, and says nothing else.
//! The first two bytes are its length.

use takt_algo::read_key;
use takt_sim::{
    packets_in,
    record::{Names, kept},
};

/// What precedes a capture's first packet, and a packet.
const PCAP_BYTES: usize = 24 + 16;
const ETHERNET_BYTES: usize = 14;
/// Ethernet's header, IPv6's and TCP's.
const KEPT_MAX_BYTES: usize = 14 + 40 + 20;

pub fn run(bytes: &[u8]) {
    let Some((length, packet)) = bytes.split_at_checked(2) else {
        return;
    };
    let length = u16::from_be_bytes([length[0], length[1]]).into();
    let Some((key, file)) = kept(packet, length, None) else {
        assert!(packet.len() < ETHERNET_BYTES);
        return;
    };
    let header = &file[PCAP_BYTES..];
    assert!(header.len() <= KEPT_MAX_BYTES);
    let (ethernet, rest) = header.split_at(ETHERNET_BYTES);
    let ethertype = u16::from_be_bytes([ethernet[12], ethernet[13]]);
    assert_eq!(read_key(ethertype, rest, 0), key);
    // Longer frames than a device's are split, or refused where they are not TCP's.
    if length <= 1_514 {
        assert_eq!(packets_in(&file, Some(1_514)).ok(), Some(1));
    }
    let (true_key, hashed) = kept(packet, length, Some(&mut Names::new())).expect("there is room");
    assert_eq!(true_key, key);
    assert_eq!(hashed.len(), file.len());
}

//! `algo/dscp.h`.

use takt_algo::{ip_at, with_dscp};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const PPPOE: u16 = 0x8864;
const ARP: u16 = 0x0806;

/// All else of the header's first bits stays, ECN too.
#[test]
fn is_all_that_changes() {
    for dscp in 0..64u16 {
        for ecn in 0..4 {
            for before in [0, 46, 63] {
                let ipv4 = |dscp: u16| 0x4600 | dscp << 2 | ecn;
                assert_eq!(with_dscp(ipv4(before), IPV4, dscp as u8), ipv4(dscp));
                let ipv6 = |dscp: u16| 0x600a | dscp << 6 | ecn << 4;
                assert_eq!(with_dscp(ipv6(before), IPV6, dscp as u8), ipv6(dscp));
            }
        }
    }
}

#[test]
fn what_is_no_header_stays_as_it_is() {
    for (first, ethertype) in [(0x6000, IPV4), (0x4500, IPV6), (0, IPV4), (0xffff, IPV6)] {
        assert_eq!(with_dscp(first, ethertype, 46), first);
    }
}

#[test]
fn is_behind_the_headers_that_are_skipped() {
    assert_eq!(ip_at(IPV4, &[0x45; 20]), (IPV4, 0));
    let tags = [0, 7, 0x81, 0, 0, 9, 0x86, 0xdd, 0x60, 0, 0, 0];
    assert_eq!(ip_at(VLAN, &tags), (IPV6, 8));
    let session = [0x11, 0, 0, 1, 0, 22, 0, 0x21, 0x45, 0, 0, 0];
    assert_eq!(ip_at(PPPOE, &session), (IPV4, 8));
    assert_eq!(ip_at(ARP, &[0; 28]).0, ARP);
    // Cut off within the tag.
    assert_eq!(ip_at(VLAN, &[0, 7]).0, VLAN);
}

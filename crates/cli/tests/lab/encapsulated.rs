//! Packets within VLAN tags, PPPoE sessions and labels are in the classes of what they carry.

use std::collections::BTreeMap;

use crate::{
    classify::settle,
    machine::{DEFAULT, NEWEST, on_old_kernels},
    recorder::send_frame,
    takt::{apply, link},
    wire::Wire,
};

/// Kept by every backend.
const POLICY: &str = "
[link.near1]
backend = \"takt\"
rate = \"1gbit\"

[[link.near1.class]]
name = \"call\"
rate = \"10mbit\"
match = { proto = \"udp\", dst_port = 6000 }

[[link.near1.class]]
name = \"host\"
rate = \"10mbit\"
match = [{ dst = \"192.0.2.10\" }, { dst = \"2001:db8::10\" }]

[[link.near1.class]]
name = \"default\"
rate = \"500mbit\"
";

/// What is in front of IPv4, and of IPv6, as hexadecimal digits; the ethertype first.
const ENCAPSULATIONS: [(&str, &str, &str); 8] = [
    ("none", "0800", "86dd"),
    ("a VLAN", "8100 0005 0800", "8100 0005 86dd"),
    (
        "stacked VLANs",
        "88a8 0064 8100 0005 0800",
        "88a8 0064 8100 0005 86dd",
    ),
    (
        "PPPoE",
        "8864 1100 0007 0030 0021",
        "8864 1100 0007 0030 0057",
    ),
    (
        "PPPoE on a VLAN",
        "8100 0005 8864 1100 0007 0030 0021",
        "8100 0005 8864 1100 0007 0030 0057",
    ),
    (
        "PPPoE on stacked VLANs",
        "88a8 0064 8100 0005 8864 1100 0007 0030 0021",
        "88a8 0064 8100 0005 8864 1100 0007 0030 0057",
    ),
    ("a label", "8847 0006 5140", "8847 0006 5140"),
    (
        "two labels on a VLAN",
        "8100 0005 8847 0006 4040 0006 5140",
        "8100 0005 8847 0006 4040 0006 5140",
    ),
];

/// What tells nothing of what it carries, before an IPv4 packet.
const OPAQUE: [(&str, &str); 4] = [
    ("PPPoE discovery", "8863 1109 0000 0030 0021"),
    ("PPP's link control", "8864 1100 0007 0030 c021"),
    (
        "a short field of PPP's protocol",
        "8864 1100 0007 0030 2100",
    ),
    ("Ethernet behind a label", "8847 0006 5140 0000 0000"),
];

/// UDP to a port of another host, then to another port of the class's host.
const V4: [&str; 2] = [
    "4500 001c 0001 4000 4011 0000 0a01 0001 0a01 0002 c000 1770 0008 0000",
    "4500 001c 0001 4000 4011 0000 0a01 0001 c000 020a c000 0035 0008 0000",
];
const V6: [&str; 2] = [
    "6000 0000 0008 1140 2001 0db8 0000 0000 0000 0000 0000 0001 \
     2001 0db8 0000 0000 0000 0000 0000 0002 c000 1770 0008 0000",
    "6000 0000 0008 1140 2001 0db8 0000 0000 0000 0000 0000 0001 \
     2001 0db8 0000 0000 0000 0000 0000 0010 c000 0035 0008 0000",
];
const CLASSES: [&str; 2] = ["call", "host"];

fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = { digits.chars() }
        .filter_map(|digit| Some(digit.to_digit(16)? as u8))
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn are_in_the_classes_of_what_they_carry(backend: &str) {
    let wire = Wire::new(1);
    settle();
    apply(&POLICY.replace("\"takt\"", &format!("\"{backend}\""))).ok();
    let sent = |header: &str, packet: &str| {
        let addresses = bytes("0200 0000 0102 0200 0000 0101");
        let frame = [addresses, bytes(header), bytes(packet)].concat();
        let before = link("near1");
        send_frame(&wire, &frame, 0);
        send_frame(&wire, &frame, 0);
        link("near1").sent_since(&before)
    };
    let two_of = |class: &str| BTreeMap::from([(class.to_owned(), 2)]);
    for (what, before_v4, before_v6) in ENCAPSULATIONS {
        for (header, packets) in [(before_v4, V4), (before_v6, V6)] {
            for (packet, class) in packets.iter().zip(CLASSES) {
                let found = sent(header, packet);
                assert_eq!(found, two_of(class), "{backend}, {what}: {header} {packet}");
            }
        }
    }
    for (what, header) in OPAQUE {
        assert_eq!(sent(header, V4[0]), two_of("default"), "{backend}, {what}");
    }
}

#[test]
fn are_in_the_classes_of_what_they_carry_on_the_default_kernel() {
    DEFAULT.run(|| {
        for backend in ["takt", "departure", "tree"] {
            are_in_the_classes_of_what_they_carry(backend);
        }
    });
}

#[test]
fn are_in_the_classes_of_what_they_carry_on_the_newest_kernel() {
    NEWEST.run(|| are_in_the_classes_of_what_they_carry("takt"));
}

#[test]
fn are_in_the_classes_of_what_they_carry_of_a_tree() {
    on_old_kernels(|| are_in_the_classes_of_what_they_carry("tree"));
}

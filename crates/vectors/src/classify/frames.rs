//! The frames of the classifier's vectors.

use super::{Classify, Frame, Setup};
use crate::{Failure, concept::Vector, recorder::Recorder};

/// A match of every kind; the first four overlap.
const POLICY: &str = r#"
[link.eth0]
rate = "1gbit"

[[link.eth0.class]]
name = "one-port"
rate = "1mbit"
match = { proto = "udp", dst_port = "5007" }

[[link.eth0.class]]
name = "stream"
rate = "25mbit"
match = { proto = "udp", dst_port = "5004-5100" }

[[link.eth0.class]]
name = "one-network"
rate = "10mbit"
match = { src = "10.1.0.0/16" }

[[link.eth0.class]]
name = "one-host"
rate = "10mbit"
match = [{ dst = "192.0.2.10", dst_port = "873" }, { dst = "2001:db8::10" }]

[[link.eth0.class]]
name = "voice"
rate = "1mbit"
match = { dscp = "ef" }

[[link.eth0.class]]
name = "marked"
rate = "1mbit"
match = { mark = "0x100/0xff00" }

[[link.eth0.class]]
name = "web"
rate = "50mbit"
match = { proto = "tcp", src_port = "443" }
"#;

pub fn all() -> Result<Vec<Vector<Classify>>, Failure> {
    Ok(vec![
        ipv4()?,
        ipv6()?,
        tagged()?,
        encapsulated()?,
        not_told_apart()?,
    ])
}

struct Story(Recorder<Classify>);

impl Story {
    fn new(name: &str) -> Result<Self, Failure> {
        let policy = POLICY.trim().lines().map(str::to_owned).collect();
        Ok(Self(Recorder::new(name, Setup { policy })?))
    }

    fn frame(&mut self, ethertype: &str, mark: u32, bytes: &str) -> Result<(), Failure> {
        self.0.call(Frame {
            ethertype: ethertype.to_owned(),
            mark,
            bytes: bytes.to_owned(),
        })?;
        Ok(())
    }
}

/// A header without options from 10.0.0.1; `rest` begins with the ports.
fn v4(dscp: u8, proto: u8, dst: &str, rest: &str) -> String {
    let tos = dscp << 2;
    format!("45{tos:02x} 0024 0001 4000 40{proto:02x} 0000 0a00 0001 {dst} {rest}")
}

/// A header from 2001:db8::1.
fn v6(dscp: u8, next: u8, dst: &str, rest: &str) -> String {
    let class = dscp << 2;
    let (high, low) = (class >> 4, class & 15);
    let src = "2001 0db8 0000 0000 0000 0000 0000 0001";
    format!("6{high:x}{low:x}0 0000 0010 {next:02x}40 {src} {dst} {rest}")
}

const OTHER_HOST: &str = "c633 6401";
const RSYNC_HOST: &str = "c000 020a";
const OTHER_HOST6: &str = "2001 0db8 0000 0000 0000 0000 0000 0002";
const HOST6: &str = "2001 0db8 0000 0000 0000 0000 0000 0010";

fn ipv4() -> Result<Vector<Classify>, Failure> {
    let mut story = Story::new("IPv4")?;
    // UDP to port 5007, to the edges of the range, and beyond it.
    for port in ["138f", "138c", "13ec", "13ed", "138b"] {
        story.frame(
            "0800",
            0,
            &v4(0, 17, OTHER_HOST, &format!("c000 {port} 0010 0000")),
        )?;
    }
    // The same ports over TCP, DCCP, SCTP, UDP-Lite.
    for proto in [6, 33, 132, 136] {
        story.frame("0800", 0, &v4(0, proto, OTHER_HOST, "c000 138f 0000 0000"))?;
    }
    story.frame("0800", 0, &v4(0, 6, RSYNC_HOST, "c000 0369 0000 0000"))?;
    story.frame("0800", 0, &v4(0, 6, RSYNC_HOST, "c000 0370 0000 0000"))?;
    story.frame("0800", 0, &v4(46, 6, OTHER_HOST, "c000 0370 0000 0000"))?;
    story.frame(
        "0800",
        0x1234_01ff,
        &v4(0, 1, OTHER_HOST, "0800 0000 0001 0001"),
    )?;
    story.frame("0800", 0x200, &v4(0, 6, OTHER_HOST, "01bb c000 0000 0000"))?;
    // From 10.1.2.3, with eight bytes of options before the ports.
    let options = "47b8 0024 0001 0000 4011 0000 0a01 0203 c633 6401 0101 0101 0101 0100 c000 138f";
    story.frame("0800", 0, options)?;
    story.frame("0800", 0, &options.replace("138f", "0035"))?;
    Ok(story.0.done())
}

fn ipv6() -> Result<Vector<Classify>, Failure> {
    let mut story = Story::new("IPv6, and its extension headers")?;
    story.frame("86dd", 0, &v6(0, 17, OTHER_HOST6, "c000 138f 0010 0000"))?;
    story.frame("86dd", 0, &v6(0, 17, HOST6, "c000 0035 0010 0000"))?;
    story.frame("86dd", 0, &v6(46, 58, OTHER_HOST6, "8000 0000 0000 0000"))?;
    // Hop-by-hop (8 bytes), routing (24), destination options (16), then UDP.
    let chain = format!(
        "2b00 0502 0000 0000 3c02 0000 0000 0000 {} 1101 0104 0000 0000 {} c000 1390",
        "0000 ".repeat(8),
        "0000 ".repeat(4)
    );
    story.frame("86dd", 0, &v6(0, 0, OTHER_HOST6, &chain))?;
    // Six extension headers are skipped; the seventh ends the search.
    let one = "0000 0104 0000 0000 ";
    let last = "1100 0104 0000 0000 c000 138f";
    story.frame("86dd", 0, &v6(0, 0, OTHER_HOST6, &(one.repeat(5) + last)))?;
    story.frame("86dd", 0, &v6(0, 0, OTHER_HOST6, &(one.repeat(6) + last)))?;
    Ok(story.0.done())
}

fn tagged() -> Result<Vector<Classify>, Failure> {
    let mut story = Story::new("VLAN tags")?;
    let udp = v4(0, 17, OTHER_HOST, "c000 138f 0010 0000");
    story.frame("8100", 0, &format!("0005 0800 {udp}"))?;
    story.frame("88a8", 0, &format!("0064 8100 0005 0800 {udp}"))?;
    // Six are skipped; the seventh ends the search.
    let tags = |count| "8100 0006 ".repeat(count);
    story.frame("88a8", 0, &format!("0064 {}0800 {udp}", tags(5)))?;
    story.frame("88a8", 0, &format!("0064 {}0800 {udp}", tags(6)))?;
    let udp6 = v6(0, 17, OTHER_HOST6, "c000 138f 0010 0000");
    story.frame("8100", 0, &format!("e005 86dd {udp6}"))?;
    Ok(story.0.done())
}

fn encapsulated() -> Result<Vector<Classify>, Failure> {
    let mut story = Story::new("PPPoE and MPLS")?;
    let udp = v4(0, 17, OTHER_HOST, "c000 138f 0010 0000");
    let udp6 = v6(0, 17, OTHER_HOST6, "c000 138f 0010 0000");
    story.frame("8864", 0, &format!("1100 0007 0026 0021 {udp}"))?;
    story.frame("8864", 0, &format!("1100 0007 003a 0057 {udp6}"))?;
    story.frame("8100", 0, &format!("0005 8864 1100 0007 0026 0021 {udp}"))?;
    // Discovery, link control, a protocol field of one byte.
    story.frame("8864", 0, &format!("1109 0007 0026 0021 {udp}"))?;
    story.frame("8864", 0, &format!("1100 0007 0026 c021 {udp}"))?;
    story.frame("8864", 0, &format!("1100 0007 0025 21 {udp}"))?;
    story.frame("8864", 0, "1100 0007 0026")?;
    // One label, two, seven, and none at the bottom.
    story.frame("8847", 0, &format!("0006 5140 {udp}"))?;
    story.frame("8848", 0, &format!("0006 4040 0006 5140 {udp6}"))?;
    let labels = "0006 4040 ".repeat(6);
    story.frame("8847", 0, &format!("{labels}0006 5140 {udp}"))?;
    story.frame("8847", 0, &format!("0006 4040 {udp}"))?;
    // A pseudowire, and a label alone.
    story.frame("8847", 0, &format!("0006 5140 0000 0000 {udp}"))?;
    story.frame("8847", 0, "0006 5140")?;
    Ok(story.0.done())
}

fn not_told_apart() -> Result<Vector<Classify>, Failure> {
    let mut story = Story::new("what cannot be read belongs to the default class")?;
    // ARP; a mark is still found.
    let arp = "0001 0800 0604 0001 0000 0000 0000 0a01 0001";
    story.frame("0806", 0, arp)?;
    story.frame("0806", 0x100, arp)?;
    // The first fragment, a later one, and an IPv6 fragment.
    let udp = v4(0, 17, OTHER_HOST, "c000 138f 0010 0000");
    story.frame("0800", 0, &udp.replacen("4000 4011", "2000 4011", 1))?;
    story.frame("0800", 0, &udp.replacen("4000 4011", "00b9 4011", 1))?;
    story.frame(
        "86dd",
        0,
        &v6(0, 44, OTHER_HOST6, "1100 0001 0000 0001 c000 138f"),
    )?;
    // Cut in the ports, in the header, in an extension header, to nothing.
    let cut = |bytes: &str, digits: usize| bytes.replace(' ', "")[..digits].to_owned();
    story.frame("0800", 0, &cut(&udp, 2 * 23))?;
    story.frame("0800", 0, &cut(&udp, 2 * 19))?;
    let extended = v6(0, 0, OTHER_HOST6, "1100 0104 0000 0000 c000 138f");
    story.frame("86dd", 0, &cut(&extended, 2 * 42))?;
    story.frame("86dd", 0, &cut(&extended, 2 * 48))?;
    story.frame("8100", 0, "0005")?;
    story.frame("0800", 0, "")?;
    // Invalid versions and header lengths.
    story.frame("0800", 0, &udp.replacen("45", "65", 1))?;
    story.frame("0800", 0, &udp.replacen("45", "44", 1))?;
    story.frame("86dd", 0, &udp)?;
    Ok(story.0.done())
}

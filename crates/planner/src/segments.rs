//! How long the stack's segments may be, by `packets` and `burst`.
//!
//! A device limits the segments of all of its sockets. TCP sizes each socket's by that socket's
//! pacing rate as well, so a class that is slower than its link limits its own.

use takt_policy::{Class, Link, Match, Packets};

use crate::{
    flow::{FlowTerms, SocketRates, TCP, header_bytes_on_line},
    framing::line_bytes,
    link::ClassIds,
};

/// A device's limit that makes each frame a packet.
pub const SINGLE: u32 = 1;

/// Most that a device's limit can be (`GSO_MAX_SEGS`).
const MOST: u64 = 65_535;

/// The longest segment of TCP, unless a device has a greater limit (`GSO_LEGACY_MAX_SIZE`).
const LONGEST_BYTES: u64 = 65_536;

/// TCP makes segments of two frames where its pace allows less (`tcp_min_tso_segs`): on Ethernet, with all
/// that takes up time on the wire.
const TCP_LEAST_BYTES: u64 = 2 * 1538;

/// The header of a frame.
const ETHERNET_BYTES: u32 = 14;

/// TCP makes segments of its pacing rate shifted by so many bits, in bytes/s (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;

/// A socket may be faster than its pace by so many percent, so that the pace is its class's clock's
/// and not that of the socket.
const MARGIN_PERCENT: u64 = 105;

const NS_PER_S: u128 = 1_000_000_000;

/// The most frames that a packet of the link's device may have, at this MTU; `None`: as many as
/// the device takes.
pub fn frames_most(link: &Link, mtu_bytes: u32, header_bytes: u32) -> Option<u32> {
    let framing = link.framing.on_device(header_bytes);
    let frame_bytes = line_bytes(framing, u64::from(mtu_bytes) + u64::from(header_bytes));
    match link.packets {
        Packets::Gso => None,
        Packets::Mtu => Some(SINGLE),
        Packets::Auto if !has_one_pace(link) => Some(SINGLE),
        Packets::Auto => {
            let frames = bytes_in(link.least_bps(), link.burst_ns) / frame_bytes.max(1);
            (frames < MOST).then_some(frames.max(1) as u32)
        }
    }
}

/// The most bytes of a packet that the kernel merges of what the device of a download receives, at this
/// MTU; `None`: as many as it takes.
pub fn merged_bytes_most(download: &Link, mtu_bytes: u32) -> Option<u32> {
    let frames = frames_most(download, mtu_bytes, ETHERNET_BYTES)?;
    // A merged packet has the headers of one, and is shorter than the limit.
    let bytes = u64::from(frames) * u64::from(mtu_bytes) + 1;
    (bytes < LONGEST_BYTES).then_some(bytes as u32)
}

/// The pacing rate of a class's sockets with which TCP makes no longer segments than the bursts of
/// class and link allow, in bytes/s of the wire; `None`: the device's limit bounds them, or no segment
/// of TCP is longer.
fn socket_bytes_per_s(link: &Link, class: &Class) -> Option<u64> {
    if link.packets != Packets::Auto || !has_one_pace(link) {
        return None;
    }
    let pace_bps = pace_bps(link, class);
    let segment_bytes = bytes_in(pace_bps, class.burst_ns);
    if segment_bytes >= LONGEST_BYTES.min(bytes_in(link.least_bps(), link.burst_ns)) {
        return None;
    }
    let least = pace_bps.div_ceil(8) * MARGIN_PERCENT / 100;
    if segment_bytes <= TCP_LEAST_BYTES {
        // TCP's segments are no longer at a higher rate, either.
        return Some(least);
    }
    Some((segment_bytes << PACING_SHIFT).max(least))
}

/// How long a class's packets of several frames may be on the wire; longer ones are counted.
pub(crate) fn burst_bytes(link: &Link, class: &Class) -> u32 {
    match link.packets {
        Packets::Gso => u32::MAX,
        Packets::Mtu => 0,
        Packets::Auto if !has_one_pace(link) => 0,
        Packets::Auto => {
            let of_link = bytes_in(link.least_bps(), link.burst_ns);
            let of_class = bytes_in(pace_bps(link, class), class.burst_ns);
            let longest = of_link.min(of_class).max(TCP_LEAST_BYTES);
            u32::try_from(longest).unwrap_or(u32::MAX)
        }
    }
}

/// The pacing rates of the sockets of a link's classes, beside whatever carries out the link; `None`: no
/// class needs one. Classes are those of [`told_by_sockets`], and have the ids of a plan that has none
/// before it.
pub fn socket_rates(link: &Link, header_bytes: u32) -> Option<SocketRates> {
    let told = told_by_sockets(link);
    let ids = ClassIds::default().assign(&told);
    let terms = |class: &Class| FlowTerms {
        id: ids.id(&class.name).unwrap_or_default(),
        bytes_per_s: { possible(link, class) }
            .map(|class| socket_bytes_per_s(link, class))
            .try_fold(0, |most, bytes_per_s| Some(most.max(bytes_per_s?)))
            .unwrap_or_default(),
    };
    let classes: Vec<FlowTerms> = told.classes.iter().map(terms).collect();
    let any = classes.iter().any(|class| class.bytes_per_s != 0);
    any.then(|| SocketRates {
        header_bytes: header_bytes_on_line(link, header_bytes),
        classes,
        ..SocketRates::default()
    })
}

/// The link with the matches that its sockets tell before their packets leave. A class that has no other
/// match is not in it.
pub fn told_by_sockets(link: &Link) -> Link {
    let mut told = link.clone();
    for class in &mut told.classes {
        class.matches.retain(is_told_by_socket);
    }
    told.classes
        .retain(|class| class.is_default || !class.matches.is_empty());
    told
}

/// Filters and programs may decide the rest for each packet.
fn is_told_by_socket(entry: &Match) -> bool {
    entry.mark.is_none() && entry.dscp.is_none() && !entry.registered
}

/// The classes that a socket's packets may be in while it tells this one: this one, and each before it in
/// the policy with a match that sockets do not tell.
fn possible<'a>(link: &'a Link, class: &'a Class) -> impl Iterator<Item = &'a Class> {
    let is_before = |other: &&Class| class.is_default || other.name != class.name;
    let before = link.classes.iter().take_while(is_before);
    let untold =
        |entry: &Match| !is_told_by_socket(entry) && entry.proto.is_none_or(|proto| proto == TCP);
    let possible = before.filter(move |other| other.matches.iter().any(untold));
    possible.chain([class])
}

/// Whether a segment takes a known time on the line. A station's frames take a time of its own, PAUSE
/// frames have to fit between frames, and where the device decides there is no rate.
fn has_one_pace(link: &Link) -> bool {
    !link.pacing.fills_gaps() && !link.has_stations && !link.by_device
}

/// The pace of a class, or of each of its flows: no packet of it leaves faster for long.
fn pace_bps(link: &Link, class: &Class) -> u64 {
    let tenant = class.tenant.as_ref();
    let tenant = tenant.and_then(|name| link.tenants.iter().find(|tenant| tenant.name == *name));
    let ceilings = [class.ceil_bps, tenant.and_then(|tenant| tenant.ceil_bps)];
    let slowest = ceilings.into_iter().flatten().min();
    slowest.unwrap_or(u64::MAX).min(link.most_bps())
}

/// What a line of this rate carries in a time.
fn bytes_in(rate_bps: u64, ns: u64) -> u64 {
    let bytes = u128::from(rate_bps) * u128::from(ns) / (8 * NS_PER_S);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(text: &str) -> Link {
        let policy = takt_policy::parse("test", text).expect("a policy");
        policy.links.into_iter().next().expect("a link")
    }

    fn of_rate(rate: &str, more: &str) -> Link {
        link(&format!("[link.eth0]\nrate = \"{rate}\"\n{more}"))
    }

    fn frames(rate: &str, more: &str) -> Option<u32> {
        frames_most(&of_rate(rate, more), 1500, 14)
    }

    #[test]
    fn a_packet_takes_the_link_for_a_burst() {
        for (rate, most) in [
            ("1mbit", 1),
            ("20mbit", 1),
            ("25mbit", 2),
            ("100mbit", 8),
            ("1gbit", 82),
        ] {
            assert_eq!(frames(rate, ""), Some(most), "{rate}");
        }
        // How long it takes is not known.
        assert_eq!(frames("line", ""), Some(SINGLE));
        assert_eq!(frames("line", "packets = \"gso\""), None);
        assert_eq!(frames("400gbit", "burst = \"100ms\""), None);
        assert_eq!(frames("100mbit", "burst = \"10ms\""), Some(82));
        assert_eq!(frames("100mbit", "burst = \"50us\""), Some(1));
        // Headers count.
        assert_eq!(frames("100mbit", "overhead = 24"), Some(8));
        assert_eq!(frames("100mbit", "overhead = 256"), Some(7));
        assert_eq!(frames_most(&of_rate("1gbit", ""), 9000, 14), Some(13));
    }

    #[test]
    fn the_other_words_ask_for_none_or_all() {
        assert_eq!(frames("1gbit", "packets = \"mtu\""), Some(1));
        assert_eq!(frames("1mbit", "packets = \"gso\""), None);
        assert_eq!(frames("1gbit", "pacing = \"gap\""), Some(1));
    }

    /// A frame of 64 KB to a station at 6 Mbit/s would take 87 ms of everyone's air.
    #[test]
    fn stations_get_single_frames() {
        let link = of_rate(
            "1gbit",
            "\n[radio]\nsource = \"station-dump\"\nlinks = [\"eth0\"]",
        );
        assert!(link.has_stations);
        assert_eq!(frames_most(&link, 1500, 14), Some(1));
        assert_eq!(burst_bytes(&link, &link.classes[0]), 0);
    }

    fn socket(link_lines: &str, class_lines: &str) -> Option<u64> {
        let link = link(&format!(
            "[link.eth0]\nrate = \"1gbit\"\n{link_lines}\n[[link.eth0.class]]\nname = \"web\"\n\
             match = {{ proto = \"tcp\" }}\n{class_lines}"
        ));
        socket_bytes_per_s(&link, &link.classes[0])
    }

    #[test]
    fn sockets_of_slow_classes_make_short_segments() {
        // 2 ms of 8 Mbit/s are 2,000 bytes; the socket is not slower than its class.
        assert_eq!(socket("", "ceil = \"8mbit\""), Some(1_050_000));
        assert_eq!(socket("", "ceil = \"16mbit\""), Some(4000 << 10));
        assert_eq!(
            socket("", "ceil = \"8mbit\"\nburst = \"4ms\""),
            Some(4000 << 10)
        );
        assert_eq!(
            socket("", "ceil = \"8mbit\"\nper_flow = true"),
            Some(1_050_000)
        );
    }

    #[test]
    fn sockets_of_fast_classes_are_left_alone() {
        assert_eq!(socket("", ""), None);
        assert_eq!(socket("", "rate = \"8mbit\"\nceil = \"1gbit\""), None);
        assert_eq!(socket("", "ceil = \"600mbit\""), None);
        // The device's limit is lower.
        assert_eq!(socket("burst = \"100us\"", "ceil = \"200mbit\""), None);
        for packets in ["mtu", "gso"] {
            let packets = format!("packets = \"{packets}\"");
            assert_eq!(socket(&packets, "ceil = \"8mbit\""), None);
        }
    }

    #[test]
    fn longer_packets_than_the_bursts_allow_are_counted() {
        let longest = |more: &str, class: &str| {
            let link = link(&format!(
                "[link.eth0]\nrate = \"100mbit\"\n{more}\n[[link.eth0.class]]\nname = \"web\"\n\
                 match = {{ proto = \"tcp\" }}\n{class}"
            ));
            burst_bytes(&link, &link.classes[0])
        };
        assert_eq!(longest("", ""), 12_500);
        assert_eq!(longest("", "ceil = \"40mbit\""), 10_000);
        let of_flows = longest("", "rate = \"40mbit\"\nper_flow = true");
        assert_eq!(of_flows, 5000);
        assert_eq!(longest("", "ceil = \"1mbit\""), 3076);
        assert_eq!(longest("burst = \"4ms\"", "ceil = \"40mbit\""), 40_000);
        assert_eq!(longest("packets = \"mtu\"", ""), 0);
        assert_eq!(longest("packets = \"gso\"", ""), u32::MAX);
    }

    #[test]
    fn sockets_that_do_not_tell_their_class_are_left_alone() {
        let text = |entry: &str| {
            format!(
                "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.class]]\nname = \"web\"\n\
                 match = {{ {entry} }}\n[[link.eth0.class]]\nname = \"default\"\n\
                 ceil = \"8mbit\"\n"
            )
        };
        let rates = |entry: &str| socket_rates(&link(&text(entry)), 14);
        let known = rates("proto = \"tcp\", src_port = 443").expect("the default class is slow");
        let paces = known.classes.iter().map(|class| class.bytes_per_s);
        assert_eq!(paces.collect::<Vec<_>>(), [0, 1_050_000]);
        assert_eq!(known.header_bytes, 14);
        for entry in ["mark = 1", "dscp = 46", "registered = true"] {
            assert_eq!(rates(entry), None, "{entry}");
        }
        let fast = link("[link.eth0]\nrate = \"1gbit\"\n");
        assert_eq!(socket_rates(&fast, 14), None);
    }

    /// A socket is as fast as the fastest class that its packets may be in.
    #[test]
    fn sockets_are_no_slower_than_any_class_they_may_be_in() {
        let class = |name: &str, ceil: u32, entries: &str| {
            format!(
                "[[link.eth0.class]]\nname = \"{name}\"\nceil = \"{ceil}mbit\"\nmatch = {entries}\n"
            )
        };
        let text = [
            "[link.eth0]\nrate = \"1gbit\"\n",
            &class("first", 4, "{ proto = \"tcp\", dst_port = 1 }"),
            &class("voice", 8, "[{ dscp = 46 }, { dst_port = 2 }]"),
            &class("calls", 80, "{ dscp = 34, proto = \"udp\" }"),
            &class("second", 4, "{ dst_port = 3 }"),
            &class("third", 16, "{ dst_port = 4 }"),
            &class("marked", 900, "{ mark = 1 }"),
            &class("fourth", 4, "{ dst_port = 5 }"),
        ];
        let link = link(&text.concat());
        let told = told_by_sockets(&link);
        let rates = socket_rates(&link, 14).expect("classes are slow");
        let paces = rates.classes.iter().map(|class| class.bytes_per_s);
        let named: Vec<(&str, u64)> = { told.classes.iter() }
            .map(|class| &*class.name)
            .zip(paces)
            .collect();
        let expected = [
            ("first", 525_000),
            ("voice", 1_050_000),
            ("second", 1_050_000),
            ("third", 4000 << 10),
            ("fourth", 0),
            ("default", 0),
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn a_tenants_ceiling_is_its_classes_pace() {
        let text = "[link.eth0]\nrate = \"1gbit\"\n[[link.eth0.tenant]]\nname = \"acme\"\n\
                    ceil = \"8mbit\"\n[[link.eth0.class]]\nname = \"web\"\ntenant = \"acme\"\n\
                    match = { proto = \"tcp\" }\n";
        let link = link(text);
        assert_eq!(socket_bytes_per_s(&link, &link.classes[0]), Some(1_050_000));
        assert_eq!(socket_bytes_per_s(&link, &link.classes[1]), None);
    }
}

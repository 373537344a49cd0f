//! From a link's policy to the rates of sockets: each TCP connection of a class with `per_flow` has
//! the class's rate, set on its socket, and fq sends its packets at that rate.
//!
//! Nothing is done for a packet. So there is no rate of a class or of the link, and what has no
//! socket of this host, or is not TCP, has no rate.

use serde::{Deserialize, Serialize};
use takt_policy::{BeyondHorizon, Class, Link};

use crate::{
    departure::Fq,
    link::{ClassIds, slack_ns},
};

/// A socket's rate is a number of 32 bits, in bytes/s, that a program can set.
pub const RATE_MOST_BPS: u64 = 8 * (u32::MAX as u64 - 1);

/// IPPROTO_TCP
pub(crate) const TCP: u8 = 6;

/// Packets in all queues, and in that of a connection: as many as fq has by default, or what the
/// classes ask for.
const LIMIT_LEAST: u32 = 10_000;
const LIMIT_MOST: u64 = 1 << 20;
const FLOW_LIMIT_LEAST: u32 = 100;
/// fq's default is 1,024 buckets, of trees.
const BUCKETS_LOG: u32 = 12;

/// The terms of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketRates {
    /// What each packet has on the wire besides IP, TCP and payload.
    pub header_bytes: u32,
    /// Whether packets with departure times beyond the horizon are dropped.
    pub drops_beyond: bool,
    /// In the order of the policy.
    pub classes: Vec<FlowTerms>,
    /// What keeps the rates.
    pub fq: Fq,
}

/// The rate of each of a class's connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowTerms {
    /// In the program's tables.
    pub id: u32,
    /// On the wire; 0: they are not paced.
    pub bytes_per_s: u64,
}

/// The terms of a link whose device has headers of so many bytes.
pub fn socket_rates(link: &Link, ids: &ClassIds, device_header_bytes: u32) -> SocketRates {
    let terms = |class: &Class| FlowTerms {
        id: ids.id(&class.name).unwrap_or_default(),
        bytes_per_s: if is_paced(class) {
            class.rate_bps.unwrap_or_default().div_ceil(8)
        } else {
            0
        },
    };
    SocketRates {
        header_bytes: header_bytes_on_line(link, device_header_bytes),
        drops_beyond: link.beyond_horizon == BeyondHorizon::Drop,
        classes: link.classes.iter().map(terms).collect(),
        fq: fq(link),
    }
}

/// What each packet has on the line besides IP, TCP and payload: without the line's smallest frame and
/// its cells, which no rate of a socket counts.
pub(crate) fn header_bytes_on_line(link: &Link, device_header_bytes: u32) -> u32 {
    let framing = link.framing.on_device(device_header_bytes);
    device_header_bytes.saturating_add_signed(framing.overhead_bytes)
}

/// Whether each of its connections has a rate.
pub(crate) fn is_paced(class: &Class) -> bool {
    class.per_flow && class.rate_bps.is_some()
}

/// Whether all of its packets are TCP's. The default class's are not.
pub(crate) fn is_tcp(class: &Class) -> bool {
    !class.is_default && class.matches.iter().all(|entry| entry.proto == Some(TCP))
}

fn fq(link: &Link) -> Fq {
    let queues = || link.classes.iter().map(|class| class.queue_packets);
    let packets: u64 = queues().map(u64::from).sum();
    Fq {
        limit_packets: packets.clamp(LIMIT_LEAST.into(), LIMIT_MOST) as u32,
        flow_limit_packets: queues().max().map_or(0, u32::from).max(FLOW_LIMIT_LEAST),
        horizon_us: u32::try_from(link.horizon_ns / 1000).unwrap_or(u32::MAX),
        buckets_log: BUCKETS_LOG,
        timer_slack_ns: slack_ns(link),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(text: &str) -> SocketRates {
        let policy = takt_policy::parse("test", text).expect("a policy");
        let link = &policy.links[0];
        socket_rates(link, &ClassIds::default().assign(link), 14)
    }

    const TWO: &str = "[link.eth0]\nrate = \"1gbit\"\nhorizon = \"2s\"\n\
                       [[link.eth0.class]]\nname = \"web\"\nrate = \"10mbit\"\nper_flow = true\n\
                       match = { proto = \"tcp\", src_port = 443 }\n";

    #[test]
    fn flows_of_classes_with_a_rate_have_it() {
        let rates = planned(TWO);
        let found: Vec<u64> = rates
            .classes
            .iter()
            .map(|class| class.bytes_per_s)
            .collect();
        assert_eq!(found, [1_250_000, 0]);
        assert_eq!(rates.fq.horizon_us, 2_000_000);
        assert!(rates.drops_beyond);
    }

    #[test]
    fn a_class_as_a_whole_has_none() {
        let rates = planned(&TWO.replace("per_flow = true\n", ""));
        assert!(rates.classes.iter().all(|class| class.bytes_per_s == 0));
    }

    #[test]
    fn only_tcp_is_tcp() {
        let class = |text: &str| {
            let policy = takt_policy::parse("test", text).expect("a policy");
            is_tcp(&policy.links[0].classes[0])
        };
        assert!(class(TWO));
        assert!(!class(&TWO.replace("\"tcp\"", "\"udp\"")));
        assert!(!class(&TWO.replace("proto = \"tcp\", ", "")));
    }
}

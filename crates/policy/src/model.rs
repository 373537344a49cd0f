//! The policy as the planner sees it: every default filled in, every unit resolved, nothing left
//! of the file's spelling.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use serde::Serialize;

/// The priority named `"background"`: after everything else.
pub const PRIORITY_BACKGROUND: u8 = 7;

/// The class that takes what no other class matches.
pub const DEFAULT_CLASS: &str = "default";

/// One network device and how its egress is shared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    pub device: String,
    /// Bits per second on the wire.
    pub rate_bps: u64,
    /// Wire bytes per frame beyond the layer 2 frame.
    pub overhead_bytes: u32,
    pub packets: Packets,
    /// How much lateness a byte clock may catch up.
    pub lag_max_ns: u64,
    /// In file order, which is match order. Exactly one is the default class; it is the last one
    /// when the file does not mention it.
    pub classes: Vec<Class>,
}

/// What a class paces: frames of the wire, or the segments the stack hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Packets {
    /// Segments are limited to one MTU, so that every frame has its own moment.
    Mtu,
    /// Large segments stay whole and leave as a burst.
    Gso,
}

/// Traffic with a byte clock of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    pub name: String,
    /// The pace: the class's own rate, or the link's if the file names none.
    pub rate_bps: u64,
    /// Whether the file names a rate.
    pub guaranteed: bool,
    /// 0 goes first, [`PRIORITY_BACKGROUND`] last.
    pub priority: u8,
    pub queue_packets: u32,
    /// A packet belongs to the class if any of these matches. Empty only in the default class.
    pub matches: Vec<Match>,
    pub is_default: bool,
    /// Where the class stands in the file, counted from 1; the link's line if it is implicit.
    pub line: usize,
}

/// A conjunction: every field that is present must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Match {
    /// Also set when an address or a protocol implies it.
    pub family: Option<Family>,
    /// The IP protocol number. `None` with ports means any protocol that has ports: tcp, udp,
    /// udplite, sctp and dccp.
    pub proto: Option<u8>,
    pub src: Option<Prefix>,
    pub dst: Option<Prefix>,
    /// Sorted, disjoint and not adjacent; empty means any.
    pub src_ports: Vec<RangeInclusive<u16>>,
    /// Sorted, disjoint and not adjacent; empty means any.
    pub dst_ports: Vec<RangeInclusive<u16>>,
    pub dscp: Option<u8>,
    pub mark: Option<Mark>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    Ipv4,
    Ipv6,
}

/// An address prefix; the bits beyond `len` are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Prefix {
    pub addr: IpAddr,
    pub len: u8,
}

/// Holds when `skb->mark & mask == value`; `value` has no bit outside `mask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Mark {
    pub value: u32,
    pub mask: u32,
}

impl Prefix {
    pub fn family(&self) -> Family {
        match self.addr {
            IpAddr::V4(_) => Family::Ipv4,
            IpAddr::V6(_) => Family::Ipv6,
        }
    }
}

//! The policy as the planner sees it: every default filled in, every unit resolved, nothing left
//! of the file's spelling.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use serde::Serialize;

/// The priority named `"background"`: after everything else.
pub const PRIORITY_BACKGROUND: u8 = 7;

/// Different questions about sockets' owners that a policy may ask, over all of its links.
pub const QUESTIONS_MAX: usize = 32;

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
    pub pacing: Pacing,
    pub packets: Packets,
    /// How much lateness a byte clock may catch up.
    pub lag_max_ns: u64,
    /// In file order; at most 63.
    pub tenants: Vec<Tenant>,
    /// In file order, which is match order. Exactly one is the default class; it is the last one
    /// when the file does not mention it.
    pub classes: Vec<Class>,
}

/// What keeps frames apart on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// The qdisc's timer.
    Timer,
    /// PAUSE frames of exactly the missing length.
    Gap,
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

/// A link within the link: classes that share one guarantee and one ceiling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tenant {
    pub name: String,
    /// Guaranteed to its classes together.
    pub rate_bps: Option<u64>,
    /// What its classes together may take; `None` if only the link limits them.
    pub ceil_bps: Option<u64>,
    /// Its share of spare capacity, times 1000.
    pub weight_milli: u64,
    /// Served before all priorities.
    pub floor_bps: Option<u64>,
    /// 0 goes first, [`PRIORITY_BACKGROUND`] last.
    pub priority: u8,
    /// Where the tenant stands in the file, counted from 1.
    pub line: usize,
}

/// Traffic with byte clocks of its own. All that is shared it shares with the other classes of its
/// tenant, or of the link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    pub name: String,
    /// The name of one of the link's tenants.
    pub tenant: Option<String>,
    /// What is guaranteed.
    pub rate_bps: Option<u64>,
    /// The pace: what it may take at most. `None` if only its tenant or the link limits it.
    pub ceil_bps: Option<u64>,
    /// Its share of spare capacity, times 1000.
    pub weight_milli: u64,
    /// Served before all priorities.
    pub floor_bps: Option<u64>,
    /// 0 goes first, [`PRIORITY_BACKGROUND`] last.
    pub priority: u8,
    /// Whether every flow has clocks and a queue of its own. Rates, weight and queue are each
    /// flow's then.
    pub per_flow: bool,
    pub queue_packets: u16,
    /// Of a class in the background, and of no other.
    pub gate: Option<Gate>,
    /// A packet belongs to the class if any of these matches. Empty only in the default class.
    pub matches: Vec<Match>,
    pub is_default: bool,
    /// Where the class stands in the file, counted from 1; the link's line if it is implicit.
    pub line: usize,
}

/// What a class in the background yields to, beside more important packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// To tasks that are more important than the one that sends.
    Sender,
    /// To no task.
    Open,
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
    /// The name of the thread or process, 1 to 15 bytes.
    pub app: Option<String>,
    pub user: Option<User>,
    /// A control group's path from the root of cgroup2, without a slash at either end. Holds for
    /// everything below it too.
    pub cgroup: Option<String>,
    /// The name of a systemd unit: of any control group on the way to the root.
    pub unit: Option<String>,
    /// Whether only traffic that was registered at run time matches.
    pub registered: bool,
}

/// Who a socket's owner runs as.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum User {
    Id(u32),
    /// Resolved when the policy is applied.
    Name(String),
}

/// What a match asks about the owner of a packet's socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    App(String),
    User(User),
    Cgroup(String),
    Unit(String),
    /// Whether its destination was registered for the owner's user, or its program as background.
    Registered,
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

impl Match {
    /// What it asks about the owner of a packet's socket; every answer must be yes.
    pub fn questions(&self) -> impl Iterator<Item = Question> {
        let app = self.app.clone().map(Question::App);
        let user = self.user.clone().map(Question::User);
        let cgroup = self.cgroup.clone().map(Question::Cgroup);
        let unit = self.unit.clone().map(Question::Unit);
        let registered = self.registered.then_some(Question::Registered);
        [app, user, cgroup, unit, registered].into_iter().flatten()
    }
}

//! Links, their classes, and what classes match.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use serde::Serialize;

use super::Framing;
use crate::read::slack_default_ns;

/// The priority named `"background"`: after everything else.
pub const PRIORITY_BACKGROUND: u8 = 7;

/// The most links of one host, receive sides included (TAKT_LINKS in bpf/link/link_maps.h).
pub const LINKS_MAX: usize = 64;

/// Different questions about sockets' owners that a policy may ask, over all of its links.
pub const QUESTIONS_MAX: usize = 32;

/// The class of packets that match no other class.
pub const DEFAULT_CLASS: &str = "default";

/// One network device and how its egress, or what it receives, is shared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// The network device's name.
    pub device: String,
    /// Bits per second on the wire; of a line that changes, while nothing is measured.
    pub rate_bps: u64,
    /// Whether the link has no rate, and its device decides what it takes (`rate = "line"`);
    /// `rate_bps` is the most that there is then.
    #[serde(skip_serializing_if = "is_false")]
    pub by_device: bool,
    /// How far the rate of a line that changes may go; `None`: it is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autorate: Option<Autorate>,
    /// What the wire carries of a frame.
    #[serde(flatten)]
    pub framing: Framing,
    /// How packets are spaced.
    pub pacing: Pacing,
    /// What happens to large segments.
    pub packets: Packets,
    /// How long a segment may occupy the link, with [`Packets::Auto`].
    pub burst_ns: u64,
    /// How much lateness a byte clock may catch up.
    pub lag_max_ns: u64,
    /// How late the timer may be, so that packets due within that time leave on one interrupt.
    pub slack_ns: u64,
    /// How far ahead a packet's departure time may be.
    pub horizon_ns: u64,
    /// What happens to a packet whose departure time is further ahead.
    pub beyond_horizon: BeyondHorizon,
    /// Whether packets of senders that understand it are marked instead of dropped (ECN).
    pub ecn: bool,
    /// Whether a queued pure acknowledgement of TCP is replaced by a newer one of its flow, as on a
    /// crowd's access point.
    pub thins_acks: bool,
    /// What has equal parts of a class's capacity, where its flows take turns.
    pub share: Sharing,
    /// Whether packets of classes that set no DSCP get that of best effort, 0.
    #[serde(skip_serializing_if = "is_false")]
    pub wash: bool,
    /// What happens when another program replaces takt's qdisc.
    pub on_conflict: OnConflict,
    /// What carries it out; `None`: the cheapest that keeps everything on the host's kernel.
    pub backend: Option<Backend>,
    /// Whether its classes tell stations apart, and share by their weights too. Rates and queues of
    /// its classes are each station's then.
    pub has_stations: bool,
    /// The device whose incoming packets it is of; `None`: of those that leave `device`. A download is
    /// called as no device is, with a dot and `download` behind the name of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub download_of: Option<String>,
    /// In file order; at most 63.
    pub tenants: Vec<Tenant>,
    /// In file order, which is match order. Exactly one is the default class; it is the last one
    /// when the file does not mention it.
    pub classes: Vec<Class>,
}

/// The bounds of a line that changes, and what measures it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Autorate {
    /// What the line always has.
    pub min_bps: u64,
    /// What it has at best.
    pub max_bps: u64,
    /// The hosts beyond the line that are asked for its delay.
    pub reflectors: Vec<IpAddr>,
}

impl Link {
    /// The least rate that it may have.
    pub fn least_bps(&self) -> u64 {
        { self.autorate.as_ref() }.map_or(self.rate_bps, |autorate| autorate.min_bps)
    }

    /// Whether its timer may be as late as where the policy does not say.
    pub fn has_default_slack(&self) -> bool {
        self.slack_ns == slack_default_ns(fastest_bps(&self.classes, self.rate_bps))
    }

    /// The most that it may have.
    pub fn most_bps(&self) -> u64 {
        { self.autorate.as_ref() }.map_or(self.rate_bps, |autorate| autorate.max_bps)
    }
}

/// The fastest pace: of a class or, where none is paced, of the link.
pub(crate) fn fastest_bps(classes: &[Class], of_link_bps: u64) -> u64 {
    let paces = { classes.iter() }.filter_map(|class| class.ceil_bps);
    paces.max().unwrap_or(of_link_bps)
}

/// How frames are spaced on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// The qdisc's timer.
    Timer,
    /// PAUSE frames of exactly the missing length.
    Gap,
    /// The timer, a little early, and PAUSE frames for the rest.
    #[serde(rename = "timer+gap")]
    TimerGap,
}

impl Pacing {
    /// Whether PAUSE frames fill gaps, some or all of them.
    pub fn fills_gaps(self) -> bool {
        self != Self::Timer
    }
}

/// What has equal parts of a class's capacity, where its flows take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Flows.
    Flows,
    /// Hosts that send, and each one's flows within it.
    Sources,
    /// Hosts that receive, and each one's flows within it.
    Destinations,
}

impl Sharing {
    /// Of the answers.
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Flows => Self::Flows,
            Self::Sources => Self::Destinations,
            Self::Destinations => Self::Sources,
        }
    }
}

/// What happens to a packet whose departure time is beyond the horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BeyondHorizon {
    /// It is dropped.
    Drop,
    /// It leaves at the horizon's end.
    Cap,
}

/// What happens when another program replaces takt's qdisc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// It is reported, and the other program's change stays.
    Report,
    /// It is reported, and taktd attaches takt's qdisc again.
    Restore,
}

/// What carries out a link's policy in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Takt's own qdisc, a BPF program (Linux 6.16).
    Takt,
    /// Departure times, which a program stamps and fq keeps.
    Departure,
    /// A tree of HTB classes, with queues and a classifier below.
    Tree,
    /// Rates of TCP connections, set on their sockets, which fq keeps.
    Flow,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Takt, Self::Departure, Self::Tree, Self::Flow];

    /// The names in policies and outputs, in the order of [`ALL`](Self::ALL).
    pub(crate) const NAMES: [&str; 4] = ["takt", "departure", "tree", "flow"];

    /// The name in policies and outputs.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The unit that a class paces: frames of the wire, or the segments of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Packets {
    /// Segments are as long as the bursts of link and class allow.
    Auto,
    /// Segments are limited to one MTU, so that every frame has its own moment.
    Mtu,
    /// Large segments stay whole and leave as a burst.
    Gso,
}

/// A link within the link: classes that share one guarantee and one ceiling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tenant {
    /// The name that classes refer to.
    pub name: String,
    /// The guarantee of its classes together.
    pub rate_bps: Option<u64>,
    /// The ceiling of its classes together; `None` if only the link limits them.
    pub ceil_bps: Option<u64>,
    /// Its share of spare capacity, times 1000.
    pub weight_milli: u64,
    /// Served before all priorities.
    pub floor_bps: Option<u64>,
    /// 0 goes first, [`PRIORITY_BACKGROUND`] last.
    pub priority: u8,
    /// The tenant's line in the file, counted from 1.
    pub line: usize,
}

/// Traffic with byte clocks of its own. It shares spare capacity with the other classes of its
/// tenant, or of the link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    /// The name in outputs. A class that keeps it keeps its queue when the policy changes.
    pub name: String,
    /// The name of one of the link's tenants.
    pub tenant: Option<String>,
    /// The guarantee.
    pub rate_bps: Option<u64>,
    /// The ceiling, which is the pace. `None` if only its tenant or the link limits it.
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
    /// The limit of its queue, in packets; with `per_flow` the limit of each flow.
    pub queue_packets: u16,
    /// How long a segment may occupy its pace, or a flow's, with [`Packets::Auto`].
    pub burst_ns: u64,
    /// How its queues are kept short.
    pub aqm: Aqm,
    /// Of a class in the background, and of no other.
    pub gate: Option<Gate>,
    /// Whether incoming packets wait for more important ones and for tasks, too. Only of a class in
    /// the background.
    pub receive: bool,
    /// Whether the link may be carried out by a backend that does not keep all that the class asks
    /// for.
    pub best_effort: bool,
    /// The DSCP that its packets get, from 0 to 63; `None`: the link decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_dscp: Option<u8>,
    /// A packet belongs to the class if any of these matches. Empty only in the default class.
    pub matches: Vec<Match>,
    /// Whether it is the default class.
    pub is_default: bool,
    /// The class's line in the file, counted from 1; the link's line if it is implicit.
    pub line: usize,
}

/// Active queue management of a class. Packets of local sockets are exempt where the class has a
/// rate or a ceiling, or is in the background: their senders are pushed back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Aqm {
    /// The algorithm.
    pub kind: AqmKind,
    /// The delay that a queue may have for longer than an interval.
    pub target_ns: u32,
    /// An acceptable round trip: bursts this long are not dropped from.
    pub interval_ns: u32,
}

/// Which algorithm manages a class's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AqmKind {
    /// None: a queue grows to its limit.
    Off,
    /// CoDel (RFC 8289), on the class's queue, or on each flow's or station's.
    Codel,
    /// Flow queues that take turns, with CoDel on each (RFC 8290).
    FqCodel,
}

/// What a class in the background waits for, besides more important packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// To tasks that are more important than the one that sends.
    Sender,
    /// No tasks.
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
    /// Where it comes from.
    pub src: Option<Prefix>,
    /// The source address.
    pub dst: Option<Prefix>,
    /// Sorted, disjoint and not adjacent; empty means any.
    pub src_ports: Vec<RangeInclusive<u16>>,
    /// Sorted, disjoint and not adjacent; empty means any.
    pub dst_ports: Vec<RangeInclusive<u16>>,
    /// Its DSCP, from 0 to 63.
    pub dscp: Option<u8>,
    /// Its mark.
    pub mark: Option<Mark>,
    /// The name of the thread or process, 1 to 15 bytes.
    pub app: Option<String>,
    /// The user of the socket's process.
    pub user: Option<User>,
    /// A control group's path from the root of cgroup2, without a slash at either end. Holds for
    /// everything below it too.
    pub cgroup: Option<String>,
    /// The name of a systemd unit: of any control group on the path to the root.
    pub unit: Option<String>,
    /// Whether it matches only traffic that was registered at run time.
    pub registered: bool,
}

/// The user of a socket's owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum User {
    /// By number.
    Id(u32),
    /// Resolved when the policy is applied.
    Name(String),
}

/// A question about the owner of a packet's socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// A thread or process of this name.
    App(String),
    /// A user's process.
    User(User),
    /// A process in this control group or below.
    Cgroup(String),
    /// A process in this systemd unit.
    Unit(String),
    /// Whether its destination was registered for the owner's user, or its program as background.
    Registered,
}

/// Which version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Version 4.
    Ipv4,
    /// Version 6.
    Ipv6,
}

/// An address prefix; the bits beyond `len` are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Prefix {
    /// The bits beyond `len` are 0.
    pub addr: IpAddr,
    /// How many bits count.
    pub len: u8,
}

/// Holds when `skb->mark & mask == value`; `value` has no bit outside `mask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Mark {
    /// The bits under the mask.
    pub value: u32,
    /// The bits that are compared.
    pub mask: u32,
}

// By reference, as serde wants it.
fn is_false(value: &bool) -> bool {
    !value
}

impl Link {
    /// The DSCP that packets of one of its classes get; `None`: they keep theirs.
    pub fn dscp_of(&self, class: &Class) -> Option<u8> {
        class.set_dscp.or(self.wash.then_some(0))
    }

    /// Whether it changes the DSCP of packets.
    pub fn sets_dscp(&self) -> bool {
        self.classes
            .iter()
            .any(|class| self.dscp_of(class).is_some())
    }
}

impl Prefix {
    /// The address family.
    pub fn family(&self) -> Family {
        match self.addr {
            IpAddr::V4(_) => Family::Ipv4,
            IpAddr::V6(_) => Family::Ipv6,
        }
    }
}

impl Match {
    /// Its questions about the owner of a packet's socket; every answer must be yes.
    pub fn questions(&self) -> impl Iterator<Item = Question> {
        let app = self.app.clone().map(Question::App);
        let user = self.user.clone().map(Question::User);
        let cgroup = self.cgroup.clone().map(Question::Cgroup);
        let unit = self.unit.clone().map(Question::Unit);
        let registered = self.registered.then_some(Question::Registered);
        [app, user, cgroup, unit, registered].into_iter().flatten()
    }
}

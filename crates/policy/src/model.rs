//! The policy in the planner's form: every default filled in, every unit resolved, independent of
//! the file's spelling.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The priority named `"background"`: after everything else.
pub const PRIORITY_BACKGROUND: u8 = 7;

/// The most links of one host, receive sides included (TAKT_LINKS in bpf/link/link_maps.h).
pub const LINKS_MAX: usize = 64;

/// Different questions about sockets' owners that a policy may ask, over all of its links.
pub const QUESTIONS_MAX: usize = 32;

/// The class of packets that match no other class.
pub const DEFAULT_CLASS: &str = "default";

/// The group whose members may take reservations, unless `[beats]` says otherwise. No host has this
/// group before its administrator makes it.
const JOIN_DEFAULT: &str = "takt";

/// Defaults of `[beats]`.
pub(crate) const GRID_DEFAULT_NS: u64 = 500_000;
/// HiTactix keeps 10 ms of 160 ms free.
pub(crate) const FREE_DEFAULT_PPM: u32 = 62_500;
pub(crate) const BATCH_DEFAULT_PACKETS: u32 = 8;

/// One network device and how its egress is shared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// The network device's name.
    pub device: String,
    /// Bits per second on the wire.
    pub rate_bps: u64,
    /// Wire bytes per frame beyond the layer 2 frame.
    pub overhead_bytes: u32,
    /// How packets are spaced.
    pub pacing: Pacing,
    /// What happens to large segments.
    pub packets: Packets,
    /// How much lateness a byte clock may catch up.
    pub lag_max_ns: u64,
    /// Whether its classes tell stations apart, and share by their weights too. Rates and queues of
    /// its classes are each station's then.
    pub has_stations: bool,
    /// In file order; at most 63.
    pub tenants: Vec<Tenant>,
    /// In file order, which is match order. Exactly one is the default class; it is the last one
    /// when the file does not mention it.
    pub classes: Vec<Class>,
}

/// How frames are spaced on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// The qdisc's timer.
    Timer,
    /// PAUSE frames of exactly the missing length.
    Gap,
}

/// The unit that a class paces: frames of the wire, or the segments of the stack.
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
    /// Of a class in the background, and of no other.
    pub gate: Option<Gate>,
    /// Whether incoming packets wait for more important ones and for tasks, too. Only of a class in
    /// the background.
    pub receive: bool,
    /// A packet belongs to the class if any of these matches. Empty only in the default class.
    pub matches: Vec<Match>,
    /// Whether it is the default class.
    pub is_default: bool,
    /// The class's line in the file, counted from 1; the link's line if it is implicit.
    pub line: usize,
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

/// Tasks that run on the beat, and the time-slot tables that hold them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beats {
    /// All edges of slots are multiples of this.
    pub grid_ns: u64,
    /// The part that is never assigned, in millionths of every CPU's frame.
    pub free_ppm: u32,
    /// The CPUs that may carry beats, sorted; `None` for every one that is online.
    pub cpus: Option<Vec<u32>>,
    /// Whether network devices process packets in threads while beats are loaded.
    pub threaded_napi: bool,
    /// Packets handled at once with bottom halves off.
    pub batch_packets: u32,
    /// The users that may take reservations at run time.
    #[serde(default)]
    pub join: Join,
    /// In file order; never empty.
    pub tasks: Vec<Task>,
}

impl Default for Beats {
    /// The defaults without a section `[beats]`; and no tasks yet.
    fn default() -> Beats {
        Beats {
            grid_ns: GRID_DEFAULT_NS,
            free_ppm: FREE_DEFAULT_PPM,
            cpus: None,
            threaded_napi: true,
            batch_packets: BATCH_DEFAULT_PACKETS,
            join: Join::default(),
            tasks: Vec::new(),
        }
    }
}

/// The users that may take reservations at run time, besides root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// No other user.
    None,
    /// Members of the group of this name, which is looked up when a thread asks.
    Group(String),
    /// Every user of the host.
    All,
}

impl Default for Join {
    fn default() -> Join {
        Join::Group(JOIN_DEFAULT.to_owned())
    }
}

/// A thread, or a group of threads with hand-off, with a time slot in each period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The name in outputs. A task that keeps it keeps its slots when the policy changes.
    pub name: String,
    /// A multiple of the grid.
    pub period_ns: u64,
    /// The budget of each period; of a group all members together.
    pub budget_ns: u64,
    /// When the budget begins within the period, a multiple of the grid; `None` where it fits.
    pub offset_ns: Option<u64>,
    /// How long before its beat a thread is released, to wait out the rest on its CPU.
    pub lead_ns: u64,
    /// Sorted; `None` for all that carry beats.
    pub cpus: Option<Vec<u32>>,
    /// What happens to a thread that exceeds the budget.
    pub overrun: Overrun,
    /// In the order of hand-off; a single thread is the only one.
    pub members: Vec<Member>,
    /// The task's line in the file, counted from 1.
    pub line: usize,
}

/// What happens to a thread that has used up its budget and goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overrun {
    /// It is an ordinary thread until its next release.
    #[default]
    Demote,
    /// The same, and it gets SIGXCPU.
    Signal,
    /// All of its group are ordinary threads until the policy is applied again.
    StopGroup,
}

/// One thread of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The thread's name, unless `matches` says otherwise.
    pub name: String,
    /// The thread that it is.
    pub matches: ThreadMatch,
}

/// A conjunction: every field that is present must hold. No two members of a policy have the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThreadMatch {
    /// The thread's own name, 1 to 15 bytes; `None` for the first thread of a process.
    pub thread: Option<String>,
    /// The name of the process's first thread, 1 to 15 bytes.
    pub command: Option<String>,
    /// As in [`Match`].
    pub cgroup: Option<String>,
    /// As in [`Match`].
    pub unit: Option<String>,
}

/// Weights by strength of connection (SoCPS): a station's share follows its reception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Radio {
    /// Between two samples, reports or decays.
    pub interval_ns: u64,
    /// The share of the newest sample in the average, in millionths.
    pub smoothing_ppm: u32,
    /// The part of the average that remains after an interval without a report, in millionths.
    pub decay_ppm: u32,
    /// The function from strength to weight.
    pub law: WeightLaw,
    /// The devices whose links have stations; `None`: all of this policy.
    pub links: Option<Vec<String>>,
    /// The source of strengths.
    pub source: RadioSource,
    /// The UDP port that reports are taken on, if they are the source.
    pub listen: u16,
    /// The key that reports are sent and taken with. A path that is relative in the file starts at
    /// the file if the policy was [loaded](crate::load), else at the current directory.
    pub key_file: Option<PathBuf>,
    /// On a client: where it reports its strength.
    pub report: Option<Report>,
}

/// From strength of connection to weight. SoCPS, section 4.3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum WeightLaw {
    /// PW: linear from point to point, level before the first and after the last. 1 to 16 points;
    /// strengths rise, weights do not fall.
    Piecewise {
        /// From the weakest to the strongest.
        points: Vec<Point>,
    },
    /// GB: 1 above the threshold, 0 otherwise.
    GoodBad {
        /// In hundredths of a dB.
        threshold_centidb: i32,
    },
}

/// A weight for a strength of connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Hundredths of a dB.
    pub soc_centidb: i32,
    /// 0 to 1,000,000.
    pub weight_ppm: u32,
}

/// The source of strengths of connection. Strengths set by hand (`takt station set`) always count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RadioSource {
    /// Reports of clients, which measure.
    Reports,
    /// The access point's own table of stations (nl80211).
    StationDump,
    /// A file with lines `ADDR DB`, read every interval; the path is as that of the key.
    File(PathBuf),
    /// Only strengths set by hand.
    None,
}

impl RadioSource {
    /// In the policy's spelling.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reports => "reports",
            Self::StationDump => "station-dump",
            Self::File(_) => "file",
            Self::None => "none",
        }
    }
}

/// Where a client sends the strength of its connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The receiver of the reports.
    pub to: SocketAddr,
    /// The device whose signal is measured.
    pub device: String,
}

/// Terminals that share the air, keep one small queue together, and report their throughput to each
/// other (cooperative middleware).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Crowd {
    /// The group's name, the same on all of its hosts.
    pub group: String,
    /// The key that reports are sent and taken with; a relative path as that of [`Radio`].
    pub key_file: PathBuf,
    /// The device on the shared air. Flows that leave by it are bounded.
    pub device: String,
    /// Between two reports, and between two bounds of a flow.
    pub interval_ns: u64,
    /// The role of this host in the group.
    pub role: CrowdRole,
}

/// The UDP port of a group's reports.
pub const CROWD_PORT: u16 = 7642;

/// How reports of a group are distributed, and the role of this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum CrowdRole {
    /// A terminal; reports are multicast.
    Multicast,
    /// A terminal that reports to an aggregator, which answers with the reports of all.
    Aggregated {
        /// The aggregator's address.
        by: SocketAddr,
    },
    /// The aggregator. Its own flows are not bounded.
    Aggregator,
}

impl Crowd {
    /// Whether flows of this host are bounded.
    pub fn has_bounds(&self) -> bool {
        self.role != CrowdRole::Aggregator
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

//! From a link's policy to a tree of HTB classes, as an expert would set them up: guarantees that
//! fit the link, true ceilings, quanta by weight, short bursts, and a queue in every leaf.
//!
//! HTB serves classes within their own rate first, then lets them borrow from their parent, by
//! priority and in turns of their quanta. So a guarantee goes before a better priority that
//! borrows, which is the reverse of Takt's own qdisc.

mod fit;

use serde::{Deserialize, Serialize};
use takt_policy::{AqmKind, Class, Framing, Link, PRIORITY_BACKGROUND, Tenant};

use crate::{
    framing::{framing, line_bytes},
    link::ClassIds,
};

/// The minor number of the link's own class, the parent of all others.
pub const LINK_MINOR: u16 = 1;
/// That of the class or tenant with the id 0.
const MINOR_FIRST: u32 = 0x10;

/// HTB has no class without a rate. This one is for those without a guarantee, in bits per second:
/// one full frame in 12 s.
const RATE_LEAST_BPS: u64 = 1_000;
/// The least burst, beyond one packet: HTB's timer may be late, and the rate must not suffer.
const BURST_NS: u64 = 20_000;
const QUANTUM_LEAST_BYTES: u64 = 1514;
/// A frame's header, with a VLAN tag.
const LAYER_2_BYTES: u32 = 18;
/// Netlink's attributes have room for a table of so many lengths.
const LONGEST_BYTES: u32 = 16_383;
/// Quanta differ by no more than this: a sender that keeps fewer packets queued than its class's
/// quantum, as TCP does, cannot use its share.
const QUANTA_APART: u64 = 10;
/// HTB warns above.
const QUANTUM_MOST_BYTES: u64 = 200_000;

/// The most leaves whose queues have as many flows as the kernel's default: each takes 70 KB.
const LEAVES_WITH_MANY_FLOWS: usize = 64;
const FLOWS_MANY: u32 = 1024;
const FLOWS_FEW: u32 = 32;

/// A tree of classes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Of packets that the classifier does not know.
    pub default_minor: u16,
    /// Bytes on the line per frame beyond those that the kernel counts; 0 with `line`.
    pub overhead_bytes: u16,
    /// What the line carries of a frame, if that is more than an overhead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// Parents come before their children.
    pub nodes: Vec<Node>,
}

/// What a line carries of frames up to a length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Of one frame.
    pub framing: Framing,
    /// The longest of them, as the kernel counts.
    pub longest_bytes: u32,
}

/// A class of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number within the qdisc.
    pub minor: u16,
    /// Its parent's; 0: the qdisc itself.
    pub parent: u16,
    /// Guaranteed.
    pub rate_bps: u64,
    /// At most that, with what it borrows.
    pub ceil_bps: u64,
    /// 0 borrows first.
    pub priority: u8,
    /// What it borrows in a turn.
    pub quantum_bytes: u32,
    /// How much it may send at once.
    pub burst_bytes: u32,
    /// Its queue, if it has no children.
    pub leaf: Option<Leaf>,
}

/// The queue of a leaf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leaf {
    /// First in, first out.
    Fifo {
        /// Beyond it packets are dropped.
        limit_packets: u32,
    },
    /// CoDel, on one queue or on one for each flow.
    Codel {
        /// The number of flow queues; 0: one for all.
        flows: u32,
        /// Beyond it packets are dropped.
        limit_packets: u32,
        /// The delay that a queue may have for longer than an interval.
        target_us: u32,
        /// An acceptable round trip.
        interval_us: u32,
        /// Whether packets are marked instead of dropped, where the sender understands it.
        ecn: bool,
    },
}

/// The minor number of a class or tenant, by its id.
pub fn minor_of(id: u32) -> u16 {
    (MINOR_FIRST + id) as u16
}

/// The tree of a link whose device sends packets of up to `mtu_bytes`.
pub fn tree(link: &Link, ids: &ClassIds, mtu_bytes: u32) -> Tree {
    let of_link = Node {
        minor: LINK_MINOR,
        parent: 0,
        rate_bps: link.rate_bps,
        ceil_bps: link.rate_bps,
        priority: 0,
        quantum_bytes: QUANTUM_LEAST_BYTES as u32,
        burst_bytes: burst_bytes(link.rate_bps, link, mtu_bytes),
        leaf: None,
    };
    let top = siblings(link, None);
    let mut nodes = vec![of_link];
    grow(
        link,
        ids,
        mtu_bytes,
        &top,
        link.rate_bps,
        LINK_MINOR,
        &mut nodes,
    );
    for tenant in &link.tenants {
        let minor = minor_of(ids.tenant_id(&tenant.name).unwrap_or_default());
        let parent = nodes.iter().find(|node| node.minor == minor);
        let room_bps = parent.map_or(0, |node| node.rate_bps);
        let below = siblings(link, Some(tenant));
        grow(link, ids, mtu_bytes, &below, room_bps, minor, &mut nodes);
    }
    let line = line(link, mtu_bytes);
    let default = link.classes.iter().find(|class| class.is_default);
    let default = default.and_then(|class| ids.id(&class.name));
    Tree {
        default_minor: minor_of(default.unwrap_or_default()),
        overhead_bytes: match &line {
            None => u16::try_from(link.framing.overhead_bytes).unwrap_or_default(),
            Some(_) => 0,
        },
        line,
        nodes,
    }
}

/// `None`: HTB itself counts all that its frames take.
fn line(link: &Link, mtu_bytes: u32) -> Option<Line> {
    let framing = link.framing;
    let is_plain = !framing.is_by_frame() && framing.overhead_bytes >= 0;
    (!is_plain).then(|| Line {
        framing,
        longest_bytes: mtu_bytes + LAYER_2_BYTES,
    })
}

impl Line {
    /// The line's bytes for each length from 0 to the longest. Longer than a table's entries can say
    /// is no frame of an MTU up to 9,000 bytes.
    pub fn table(&self) -> Vec<u16> {
        let framing = framing(self.framing);
        (0..=self.longest_bytes.min(LONGEST_BYTES))
            .map(|bytes| u16::try_from(framing.frame_bytes(bytes)).unwrap_or(u16::MAX))
            .collect()
    }
}

/// What shares a node: a class, or a tenant with its classes.
enum Child<'a> {
    Class(&'a Class),
    Tenant(&'a Tenant),
}

/// The children of a tenant, or of the link.
fn siblings<'a>(link: &'a Link, tenant: Option<&Tenant>) -> Vec<Child<'a>> {
    let name = tenant.map(|tenant| tenant.name.as_str());
    let classes = link
        .classes
        .iter()
        .filter(|class| class.tenant.as_deref() == name);
    let tenants = link.tenants.iter().filter(|_| tenant.is_none());
    classes
        .map(Child::Class)
        .chain(tenants.map(Child::Tenant))
        .collect()
}

impl Child<'_> {
    /// What it is to get in any case. A floor is a guarantee that other rules do not touch.
    fn asked_bps(&self) -> u64 {
        let (rate_bps, floor_bps) = match self {
            Self::Class(class) => (class.rate_bps, class.floor_bps),
            Self::Tenant(tenant) => (tenant.rate_bps, tenant.floor_bps),
        };
        rate_bps.unwrap_or(0).max(floor_bps.unwrap_or(0))
    }

    fn ceil_bps(&self) -> Option<u64> {
        match self {
            Self::Class(class) => class.ceil_bps,
            Self::Tenant(tenant) => tenant.ceil_bps,
        }
    }

    fn weight_milli(&self) -> u64 {
        match self {
            Self::Class(class) => class.weight_milli,
            Self::Tenant(tenant) => tenant.weight_milli,
        }
    }

    /// Whose guarantee is kept first if they do not all fit.
    fn priority(&self) -> u8 {
        match self {
            Self::Class(class) => class.priority,
            Self::Tenant(tenant) => tenant.priority,
        }
    }
}

/// Add the nodes of children that share `room_bps`.
fn grow(
    link: &Link,
    ids: &ClassIds,
    mtu_bytes: u32,
    children: &[Child],
    room_bps: u64,
    parent: u16,
    nodes: &mut Vec<Node>,
) {
    let asked: Vec<(u8, u64)> = children
        .iter()
        .map(|child| (child.priority(), child.asked_bps()))
        .collect();
    let weights = || children.iter().map(Child::weight_milli);
    let lightest = weights().min().unwrap_or(1);
    let lightest = lightest.max(weights().max().unwrap_or(1) / QUANTA_APART);
    for (child, rate_bps) in children.iter().zip(fit::fit(room_bps, &asked)) {
        let rate_bps = rate_bps.max(RATE_LEAST_BPS);
        let ceil_bps = child.ceil_bps().unwrap_or(link.rate_bps).min(link.rate_bps);
        let ceil_bps = ceil_bps.max(rate_bps);
        let id = match child {
            Child::Class(class) => ids.id(&class.name),
            Child::Tenant(tenant) => ids.tenant_id(&tenant.name),
        };
        nodes.push(Node {
            minor: minor_of(id.unwrap_or_default()),
            parent,
            rate_bps,
            ceil_bps,
            priority: priority_of(link, child),
            quantum_bytes: quantum_bytes(child.weight_milli(), lightest),
            burst_bytes: burst_bytes(ceil_bps, link, mtu_bytes),
            leaf: match child {
                Child::Class(class) => Some(leaf(class, link)),
                Child::Tenant(_) => None,
            },
        });
    }
}

/// HTB compares the priorities of all leaves. A class of a tenant goes no earlier than its tenant.
fn priority_of(link: &Link, child: &Child) -> u8 {
    let of_tenant = match child {
        Child::Class(class) => link
            .tenants
            .iter()
            .find(|tenant| class.tenant.as_ref() == Some(&tenant.name))
            .map_or(0, |tenant| tenant.priority),
        Child::Tenant(_) => 0,
    };
    child.priority().max(of_tenant).min(PRIORITY_BACKGROUND)
}

fn quantum_bytes(weight_milli: u64, lightest_milli: u64) -> u32 {
    let quantum = QUANTUM_LEAST_BYTES * weight_milli / lightest_milli.max(1);
    quantum.clamp(QUANTUM_LEAST_BYTES, QUANTUM_MOST_BYTES) as u32
}

/// One packet, and what the rate lets through while the timer is late.
fn burst_bytes(rate_bps: u64, link: &Link, mtu_bytes: u32) -> u32 {
    let packet = line_bytes(link.framing, u64::from(mtu_bytes + LAYER_2_BYTES));
    let late = u128::from(rate_bps) * u128::from(BURST_NS) / 8_000_000_000;
    (packet + late as u64).min(u64::from(u32::MAX)) as u32
}

fn leaf(class: &Class, link: &Link) -> Leaf {
    let limit_packets = class.queue_packets.into();
    let us = |ns: u32| (ns / 1000).max(1);
    let flows = match class.aqm.kind {
        AqmKind::Off => return Leaf::Fifo { limit_packets },
        AqmKind::Codel => 0,
        AqmKind::FqCodel if link.classes.len() <= LEAVES_WITH_MANY_FLOWS => FLOWS_MANY,
        AqmKind::FqCodel => FLOWS_FEW,
    };
    Leaf::Codel {
        flows,
        limit_packets,
        target_us: us(class.aqm.target_ns),
        interval_us: us(class.aqm.interval_ns),
        ecn: link.ecn,
    }
}

#[cfg(test)]
mod tests {
    use takt_policy::parse;

    use super::*;

    fn planned(text: &str) -> Tree {
        let policy = parse("test", text).expect("a policy");
        let link = &policy.links[0];
        tree(link, &ClassIds::default().assign(link), 1500)
    }

    fn example(name: &str) -> Tree {
        let path = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        planned(&std::fs::read_to_string(path).expect("an example"))
    }

    #[test]
    fn parents_come_first_and_hold_what_their_children_are_guaranteed() {
        for name in ["media-server", "home-gateway", "tenants"] {
            let Tree { nodes, .. } = example(name);
            for (at, node) in nodes.iter().enumerate().skip(1) {
                let parent = nodes[..at].iter().find(|other| other.minor == node.parent);
                let parent = parent.unwrap_or_else(|| panic!("{name}: {node:?} has no parent"));
                assert!(node.ceil_bps >= node.rate_bps, "{name}: {node:?}");
                let children = nodes.iter().filter(|other| other.parent == parent.minor);
                let guaranteed: u64 = children.map(|child| child.rate_bps).sum();
                let slack = RATE_LEAST_BPS * nodes.len() as u64;
                assert!(guaranteed <= parent.rate_bps + slack, "{name}: {parent:?}");
            }
        }
    }

    #[test]
    fn a_leaf_has_a_queue_and_an_inner_class_has_none() {
        let Tree {
            nodes,
            default_minor,
            ..
        } = example("tenants");
        for node in &nodes {
            let has_children = nodes.iter().any(|other| other.parent == node.minor);
            assert_eq!(node.leaf.is_none(), has_children, "{node:?}");
        }
        let default = nodes.iter().find(|node| node.minor == default_minor);
        assert!(default.is_some_and(|node| node.leaf.is_some()));
    }

    #[test]
    fn quanta_follow_weights() {
        assert_eq!(quantum_bytes(1000, 1000), 1514);
        assert_eq!(quantum_bytes(3000, 1000), 4542);
        assert_eq!(quantum_bytes(u64::from(u32::MAX), 1), 200_000);
        assert_eq!(quantum_bytes(1, 0), 1514);
    }

    #[test]
    fn a_class_without_a_rate_may_borrow_all_of_the_link() {
        let tree = planned("[link.eth0]\nrate = \"20mbit\"\n");
        assert_eq!(tree.nodes.len(), 2);
        assert_eq!(tree.nodes[1].rate_bps, RATE_LEAST_BPS);
        assert_eq!(tree.nodes[1].ceil_bps, 20_000_000);
    }
}

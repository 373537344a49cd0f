//! The requests that make a tree, turn one into another, and give a device back.
//!
//! Classes that stay keep their queues. The classifier comes last, and after it those classes go
//! that the new policy does not have: until then packets may still be classified by the old one.

use std::os::fd::OwnedFd;

use takt_planner::tree::{Leaf, Node, Tree};

use super::{
    classifier::number_of,
    record::TreeRecord,
    standing::{handle_of, name_of},
};
use crate::{
    error::Error,
    link::Before,
    os::{
        OsError,
        netlink::{
            Classifier, Device, HTB, Handle, HtbClass, Netlink, Qdisc, Request, htb_options,
            numbers, set_leaf,
        },
    },
};

/// The kernel answers while it takes requests: the answers to so many fit the socket's buffer.
const REQUESTS_AT_ONCE: usize = 64;

const CODEL_TARGET: u16 = 1;
const CODEL_LIMIT: u16 = 2;
const CODEL_INTERVAL: u16 = 3;
const CODEL_ECN: u16 = 4;
const FQ_CODEL_FLOWS: u16 = 5;
const FQ_CODEL_MEMORY: u16 = 9;
/// All packets of the longest queue, for frames of up to 2 KB with what the kernel adds to them.
const BYTES_PER_PACKET: u32 = 4096;

/// Make a tree in the place of what is there.
pub(super) fn make(record: &TreeRecord, program: &OwnedFd) -> Vec<Request> {
    let device = record.ifindex;
    let tree = &record.tree;
    let root = Qdisc {
        kind: HTB.to_owned(),
        handle: handle_of(0),
        parent: Handle::ROOT,
        options: htb_options(tree.default_minor),
    };
    let mut requests = vec![root.set_root(device)];
    for node in &tree.nodes {
        requests.extend(set_node(device, tree, node));
    }
    requests.push(classify(record, program));
    let limit = record.gso_max_segs;
    requests.extend(limit.map(|limit| Device::limit_segments(device, limit)));
    requests
}

/// Turn one tree into another on the same device.
pub(super) fn turn(from: &TreeRecord, to: &TreeRecord, program: &OwnedFd) -> Vec<Request> {
    let device = to.ifindex;
    let before = |minor| from.tree.nodes.iter().find(|node| node.minor == minor);
    let moved = |node: &Node| before(node.minor).is_some_and(|old| !may_become(old, node));
    let mut requests = Vec::new();
    // A class cannot change its parent, nor a leaf become a parent with its queue.
    for node in from.tree.nodes.iter().rev() {
        let next = to.tree.nodes.iter().find(|next| next.minor == node.minor);
        if next.is_some_and(moved) {
            requests.push(HtbClass::remove(device, handle_of(node.minor)));
        }
    }
    let same_overhead = from.tree.overhead_bytes == to.tree.overhead_bytes;
    for node in &to.tree.nodes {
        match before(node.minor) {
            Some(old) if old == node && same_overhead => {}
            Some(old) if !moved(node) && old.leaf == node.leaf => {
                requests.push(class_of(&to.tree, node).set(device));
            }
            Some(old) if !moved(node) => {
                let class = class_of(&to.tree, node);
                requests.push(class.set(device));
                let leaf = node.leaf.as_ref();
                let leaf =
                    leaf.map(|leaf| set_queue(device, class.handle, leaf, old.leaf.as_ref()));
                requests.extend(leaf);
            }
            _ => requests.extend(set_node(device, &to.tree, node)),
        }
    }
    requests.push(classify(to, program));
    let gone = |node: &&Node| to.tree.nodes.iter().all(|next| next.minor != node.minor);
    let gone = from.tree.nodes.iter().rev().filter(gone);
    requests.extend(gone.map(|node| HtbClass::remove(device, handle_of(node.minor))));
    let (old, new) = (segments(from), segments(to));
    if old != new {
        requests.push(Device::limit_segments(device, new));
    }
    requests
}

/// Restore what the device had before takt.
pub(super) fn give_back(device: u32, before: &Before) -> Vec<Request> {
    let root = match &before.qdisc {
        Some(qdisc) => qdisc.set_root(device),
        None => Qdisc::delete_root(device),
    };
    vec![root, Device::limit_segments(device, before.gso_max_segs)]
}

/// Take away what a device has, so that a tree of the same handle can be made. It may have nothing.
pub(super) fn clear(netlink: &mut Netlink, device: u32) -> Result<(), Error> {
    let answers = netlink.batch(&[Qdisc::delete_root(device)]);
    answers
        .map(drop)
        .map_err(OsError::netlink("removing a tree"))
}

/// Carry out requests in their order, until the kernel refuses one.
pub(super) fn carry_out(
    netlink: &mut Netlink,
    device: &str,
    requests: &[Request],
) -> Result<(), Error> {
    for some in requests.chunks(REQUESTS_AT_ONCE) {
        netlink
            .all(some)
            .map_err(OsError::netlink(format!("changing {device}")))?;
    }
    Ok(())
}

fn segments(record: &TreeRecord) -> u32 {
    record.gso_max_segs.unwrap_or(record.before.gso_max_segs)
}

/// Whether the kernel can change the one class to the other.
fn may_become(from: &Node, to: &Node) -> bool {
    from.parent == to.parent && from.leaf.is_some() == to.leaf.is_some()
}

fn set_node(device: u32, tree: &Tree, node: &Node) -> Vec<Request> {
    let class = class_of(tree, node);
    let leaf = node.leaf.as_ref();
    let leaf = leaf.map(|leaf| set_queue(device, class.handle, leaf, None));
    std::iter::once(class.set(device)).chain(leaf).collect()
}

fn class_of(tree: &Tree, node: &Node) -> HtbClass {
    HtbClass {
        handle: handle_of(node.minor),
        parent: handle_of(node.parent),
        rate_bps: node.rate_bps,
        ceil_bps: node.ceil_bps,
        overhead_bytes: tree.overhead_bytes,
        priority: node.priority,
        quantum_bytes: node.quantum_bytes,
        burst_bytes: node.burst_bytes,
    }
}

/// The queue of a class, in the place of the one before.
fn set_queue(device: u32, class: Handle, leaf: &Leaf, before: Option<&Leaf>) -> Request {
    // The kernel refuses to change the number of an fq_codel's flow queues, even to the same one.
    let is_fq_codel = |leaf: &Leaf| matches!(leaf, Leaf::Codel { flows: 1.., .. });
    let keeps_flows = is_fq_codel(leaf) && before.is_some_and(is_fq_codel);
    let (kind, options) = qdisc_of(leaf, keeps_flows);
    set_leaf(device, class, kind, options)
}

fn qdisc_of(leaf: &Leaf, keeps_flows: bool) -> (&'static str, Vec<u8>) {
    match leaf {
        // struct tc_fifo_qopt
        Leaf::Fifo { limit_packets } => ("pfifo", limit_packets.to_ne_bytes().to_vec()),
        Leaf::Codel {
            flows,
            limit_packets,
            target_us,
            interval_us,
            ecn,
        } => {
            let mut options = vec![
                (CODEL_TARGET, *target_us),
                (CODEL_LIMIT, *limit_packets),
                (CODEL_INTERVAL, *interval_us),
                (CODEL_ECN, u32::from(*ecn)),
            ];
            if *flows == 0 {
                return ("codel", numbers(&options));
            }
            let memory_bytes = limit_packets.saturating_mul(BYTES_PER_PACKET);
            options.push((FQ_CODEL_MEMORY, memory_bytes));
            if !keeps_flows {
                options.push((FQ_CODEL_FLOWS, *flows));
            }
            ("fq_codel", numbers(&options))
        }
    }
}

fn classify(record: &TreeRecord, program: &OwnedFd) -> Request {
    let name = name_of(record.generation);
    Classifier::set(record.ifindex, handle_of(0), number_of(program), &name)
}

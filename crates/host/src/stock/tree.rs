//! The requests that make a tree of HTB classes, and turn one into another.
//!
//! Classes that stay keep their queues. The classifier comes last, and after it those classes go
//! that the new policy does not have: until then packets may still be classified by the old one.

use std::os::fd::OwnedFd;

use takt_planner::tree::{Leaf, Node, Tree};

use super::{program::descriptor_of, record::StockRecord, shape::tree_class, sizes};
use crate::os::netlink::{
    Classifier, HTB, Handle, HtbClass, Qdisc, Request, htb_options, numbers, set_leaf,
};

const CODEL_TARGET: u16 = 1;
const CODEL_LIMIT: u16 = 2;
const CODEL_INTERVAL: u16 = 3;
const CODEL_ECN: u16 = 4;
const FQ_CODEL_FLOWS: u16 = 5;
const FQ_CODEL_MEMORY: u16 = 9;
/// All packets of the longest queue, for frames of up to 2 KB with what the kernel adds to them.
const BYTES_PER_PACKET: u32 = 4096;

/// Make a tree in the place of what is there.
pub(super) fn make(record: &StockRecord, tree: &Tree, program: &OwnedFd) -> Vec<Request> {
    let device = record.ifindex;
    let root = root(tree, htb_options(tree.default_minor));
    let mut requests = vec![root.set_root(device)];
    for node in &tree.nodes {
        requests.extend(set_node(device, tree, node));
    }
    requests.push(classify(record, program));
    requests
}

fn root(tree: &Tree, options: Vec<u8>) -> Qdisc {
    Qdisc {
        kind: HTB.to_owned(),
        handle: tree_class(0),
        parent: Handle::ROOT,
        options,
        sizes: tree.line.as_ref().map(sizes::of_line).unwrap_or_default(),
    }
}

/// Turn one tree into another on the same device.
pub(super) fn turn(
    from: &Tree,
    record: &StockRecord,
    to: &Tree,
    program: &OwnedFd,
) -> Vec<Request> {
    let device = record.ifindex;
    let before = |minor| from.nodes.iter().find(|node| node.minor == minor);
    let moved = |node: &Node| before(node.minor).is_some_and(|old| !may_become(old, node));
    let mut requests = Vec::new();
    if from.line != to.line {
        // It has its handle, so that it is changed; HTB itself refuses to be.
        requests.push(root(to, Vec::new()).set_root(device));
    }
    // A class cannot change its parent, nor a leaf become a parent with its queue.
    for node in from.nodes.iter().rev() {
        let next = to.nodes.iter().find(|next| next.minor == node.minor);
        if next.is_some_and(moved) {
            requests.push(HtbClass::remove(device, tree_class(node.minor)));
        }
    }
    let same_overhead = from.overhead_bytes == to.overhead_bytes;
    for node in &to.nodes {
        match before(node.minor) {
            Some(old) if old == node && same_overhead => {}
            Some(old) if !moved(node) && old.leaf == node.leaf => {
                requests.push(class_of(to, node).set(device));
            }
            Some(old) if !moved(node) => {
                let class = class_of(to, node);
                requests.push(class.set(device));
                let leaf = node.leaf.as_ref();
                let leaf =
                    leaf.map(|leaf| set_queue(device, class.handle, leaf, old.leaf.as_ref()));
                requests.extend(leaf);
            }
            _ => requests.extend(set_node(device, to, node)),
        }
    }
    requests.push(classify(record, program));
    let gone = |node: &&Node| to.nodes.iter().all(|next| next.minor != node.minor);
    let gone = from.nodes.iter().rev().filter(gone);
    requests.extend(gone.map(|node| HtbClass::remove(device, tree_class(node.minor))));
    requests
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
        handle: tree_class(node.minor),
        parent: tree_class(node.parent),
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

fn classify(record: &StockRecord, program: &OwnedFd) -> Request {
    Classifier::set(
        record.ifindex,
        record.shape.handle(),
        descriptor_of(program),
        &record.program_name(),
    )
}

//! What a link is on qdiscs of the kernel's own.

use serde::{Deserialize, Serialize};
use takt_planner::{
    ClassIds,
    departure::{self, Departure},
    flow::{self, SocketRates},
    tree::{self, Tree},
};
use takt_policy::{Backend, Link};

use crate::os::netlink::{Device, FQ, HTB, Handle, MQ, Port, header_bytes};

/// The major numbers of takt's root qdiscs, by shape: its own qdiscs have 7a00 to 7a3f.
const TREE_MAJOR: u32 = 0x7a80;
const DEPARTURE_MAJOR: u32 = 0x7a81;
const FLOW_MAJOR: u32 = 0x7a82;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    Tree(Tree),
    Departure(Departure),
    Flow(SocketRates),
}

impl Shape {
    /// Of a link on this device.
    pub fn new(backend: Backend, link: &Link, ids: &ClassIds, device: &Device) -> Self {
        let mtu_bytes = device.mtu_bytes;
        match backend {
            Backend::Flow => {
                let header_bytes = header_bytes(device.hardware);
                Self::Flow(flow::socket_rates(link, ids, header_bytes))
            }
            Backend::Departure => Self::Departure(departure::departure(link, ids, mtu_bytes)),
            Backend::Tree | Backend::Takt => Self::Tree(tree::tree(link, ids, mtu_bytes)),
        }
    }

    pub fn backend(&self) -> Backend {
        match self {
            Self::Tree(_) => Backend::Tree,
            Self::Departure(_) => Backend::Departure,
            Self::Flow(_) => Backend::Flow,
        }
    }

    /// The kernel's options that it needs.
    pub fn needs(&self) -> &'static str {
        match self {
            Self::Tree(_) => {
                "CONFIG_NET_SCH_HTB, CONFIG_NET_SCH_CODEL, CONFIG_NET_SCH_FQ_CODEL and \
                 CONFIG_NET_CLS_BPF"
            }
            Self::Departure(_) => {
                "CONFIG_NET_SCH_FQ, and before Linux 6.6 CONFIG_NET_SCH_INGRESS and \
                 CONFIG_NET_CLS_BPF"
            }
            Self::Flow(_) => "CONFIG_NET_SCH_FQ",
        }
    }

    /// Of its root qdisc.
    pub fn handle(&self) -> Handle {
        match self {
            Self::Tree(_) => handle(TREE_MAJOR, 0),
            Self::Departure(_) => handle(DEPARTURE_MAJOR, 0),
            Self::Flow(_) => handle(FLOW_MAJOR, 0),
        }
    }

    /// Whether this is the device's root qdisc.
    pub fn is_on(&self, port: &Port) -> bool {
        port.carries_stock()
            && port
                .root
                .as_ref()
                .is_some_and(|root| root.handle == self.handle())
    }
}

fn handle(major: u32, minor: u16) -> Handle {
    Handle(major << 16 | u32::from(minor))
}

/// The handle of a tree's class.
pub(super) fn tree_class(minor: u16) -> Handle {
    handle(TREE_MAJOR, minor)
}

/// The handle of a queue's place below this mq; they are counted from 0.
pub(super) fn queue_below(mq: Handle, queue: u32) -> Handle {
    handle(mq.0 >> 16, queue as u16 + 1)
}

impl Port {
    /// Whether the root qdisc is one of takt's, of the kernel's own kinds.
    pub(crate) fn carries_stock(&self) -> bool {
        self.root.as_ref().is_some_and(|root| {
            let kinds: &[&str] = match root.handle.0 >> 16 {
                TREE_MAJOR => &[HTB],
                DEPARTURE_MAJOR | FLOW_MAJOR => &[FQ, MQ],
                _ => &[],
            };
            kinds.contains(&root.kind.as_str())
        })
    }
}

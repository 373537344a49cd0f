//! Devices of kind veth: pairs that are made without loading anything that makes further devices.

use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage},
};

use super::{Device, Request};

/// What the kernel allows.
const MTU_MIN_BYTES: u32 = 68;
const MTU_MAX_BYTES: u32 = 65_535;

/// Make one with this number and name, as far as qdiscs can tell like another device. It is down.
pub fn create_like(like: &Device, index: u32, name: &str) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Mtu(like.mtu_bytes.clamp(MTU_MIN_BYTES, MTU_MAX_BYTES)),
        LinkAttribute::TxQueueLen(like.queue_packets),
        LinkAttribute::NumTxQueues(like.queues),
        LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth)]),
    ];
    Request {
        message: RouteNetlinkMessage::NewLink(message),
        flags: NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
    }
}

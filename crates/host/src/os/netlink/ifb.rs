//! Devices of kind ifb: a packet that is sent out of one comes in again on the device it came
//! from.

use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Prop},
};

use super::socket::Request;

/// Make one of this name, set it up, and give it an alias that explains it, which takes a
/// request of its own.
pub fn create(name: &str, alias: &str) -> [Request; 2] {
    let mut message = LinkMessage::default();
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::NumTxQueues(1),
        LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Ifb)]),
    ];
    let made = Request {
        message: RouteNetlinkMessage::NewLink(message),
        flags: NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
    };
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::IfAlias(alias.to_owned()),
    ];
    let described = Request {
        message: RouteNetlinkMessage::SetLink(message),
        flags: NLM_F_ACK,
    };
    [made, described]
}

/// Give it a further name, by which policies call it.
pub fn also_call(index: u32, name: &str) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = vec![LinkAttribute::PropList(vec![Prop::AltIfName(
        name.to_owned(),
    )])];
    Request {
        message: RouteNetlinkMessage::NewLinkProp(message),
        flags: NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
    }
}

pub fn delete(index: u32) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    Request {
        message: RouteNetlinkMessage::DelLink(message),
        flags: NLM_F_ACK,
    }
}

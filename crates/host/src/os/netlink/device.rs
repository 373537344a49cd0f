//! Network devices.

use netlink_packet_core::NLM_F_ACK;
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{LinkAttribute, LinkFlags, LinkHeader, LinkMessage},
};

use super::socket::{Netlink, NetlinkError, Request, find, text};

/// A device, as far as a scheduler needs it.
#[derive(Debug, Clone, Default)]
pub struct Device {
    pub index: u32,
    pub name: String,
    pub up: bool,
    /// Whether the link has a carrier; only of a device that is up.
    pub carrier: bool,
    /// Most segments the stack may put into one packet.
    pub gso_max_segs: u32,
    /// Bytes of an IP packet, at most.
    pub mtu_bytes: u32,
    /// How many queues for packets it was made with.
    pub queues: u32,
    /// Its type, as `ARPHRD_*`.
    pub hardware: u16,
    /// Its kind (`veth`, `ifb`, …); empty if it is hardware.
    pub kind: String,
    /// Its Ethernet address; zeroes if it has none.
    pub address: [u8; 6],
}

const IFINFOMSG_LEN: usize = 16;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_GSO_MAX_SEGS: u16 = 40;

impl Device {
    /// All devices of the namespace.
    pub fn list(netlink: &mut Netlink) -> Result<Vec<Self>, NetlinkError> {
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        netlink
            .dump(request)?
            .iter()
            .map(|payload| Self::parse(payload))
            .collect()
    }

    /// Attributes are read one by one, not through a full parse: a kernel newer
    /// than the parser must not make a device unreadable.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, NetlinkError> {
        let header = LinkHeader::parse(payload).map_err(|_| NetlinkError::Malformed)?;
        let attributes = payload
            .get(IFINFOMSG_LEN..)
            .ok_or(NetlinkError::Malformed)?;
        let name = find(attributes, IFLA_IFNAME).ok_or(NetlinkError::Malformed)?;
        let number = |kind| {
            find(attributes, kind)
                .and_then(|value| <[u8; 4]>::try_from(value).ok())
                .map(u32::from_ne_bytes)
                .ok_or(NetlinkError::Malformed)
        };
        Ok(Self {
            index: header.index,
            name: text(name),
            up: header.flags.contains(LinkFlags::Up),
            carrier: header.flags.contains(LinkFlags::LowerUp),
            gso_max_segs: number(IFLA_GSO_MAX_SEGS)?,
            mtu_bytes: number(IFLA_MTU)?,
            queues: number(IFLA_NUM_TX_QUEUES)?,
            kind: find(attributes, IFLA_LINKINFO)
                .and_then(|info| find(&info, IFLA_INFO_KIND))
                .map(text)
                .unwrap_or_default(),
            hardware: header.link_layer_type.into(),
            address: find(attributes, IFLA_ADDRESS)
                .and_then(|value| <[u8; 6]>::try_from(value).ok())
                .unwrap_or_default(),
        })
    }

    /// Limit how many segments one packet may hold.
    pub fn limit_segments(index: u32, gso_max_segs: u32) -> Request {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message
            .attributes
            .push(LinkAttribute::GsoMaxSegs(gso_max_segs));
        Request {
            message: RouteNetlinkMessage::SetLink(message),
            flags: NLM_F_ACK,
        }
    }
}

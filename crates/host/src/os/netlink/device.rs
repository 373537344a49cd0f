//! Network devices.

use netlink_packet_core::{DefaultNla, NLM_F_ACK};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{LinkAttribute, LinkFlags, LinkHeader, LinkMessage},
};

use super::socket::{Netlink, NetlinkError, Request, find, find_all, text};

/// A device, as far as a scheduler needs it.
#[derive(Debug, Clone, Default)]
pub struct Device {
    pub index: u32,
    pub name: String,
    /// Further names, by `ip link property add`; no device of the namespace has one of another's.
    pub alternative_names: Vec<String>,
    pub up: bool,
    /// Whether the link has a carrier; only of a device that is up.
    pub carrier: bool,
    /// Most segments the stack may put into one packet.
    pub gso_max_segs: u32,
    /// Most bytes that the kernel merges into one packet of what is received, and of IPv4 alone; `None`:
    /// the kernel does not say (before 5.19, and before 6.3).
    pub gro_max_bytes: Option<u32>,
    pub gro_max_ipv4_bytes: Option<u32>,
    /// Bytes of an IP packet, at most.
    pub mtu_bytes: u32,
    /// Packets that a qdisc without a limit of its own may hold.
    pub queue_packets: u32,
    /// How many queues for packets it was made with.
    pub queues: u32,
    /// Its type, as `ARPHRD_*`.
    pub hardware: u16,
    /// Its kind (`veth`, `ifb`, …); empty if it is hardware.
    pub kind: String,
    /// Its Ethernet address; zeroes if it has none.
    pub address: [u8; 6],
    /// The device of this namespace that it sends through, as a VLAN does; of a veth, its peer.
    pub lower: Option<u32>,
    /// The device that it is a port of: a bridge, a bond, a team, a VRF.
    pub master: Option<u32>,
}

const IFINFOMSG_LEN: usize = 16;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_GRO_MAX_SIZE: u16 = 58;
const IFLA_GRO_IPV4_MAX_SIZE: u16 = 64;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;

/// What packets of a device of this type (`ARPHRD_*`) have before the network's header when they come
/// to its qdisc.
pub fn header_bytes(hardware: u16) -> u32 {
    const ETHERNET_BYTES: u32 = 14;
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => ETHERNET_BYTES,
        // Tunnels, PPP.
        _ => 0,
    }
}

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

    /// The device of the namespace with this name, be it an alternative one.
    pub fn named(netlink: &mut Netlink, name: &str) -> Result<Option<Self>, NetlinkError> {
        ask_for(netlink, name, Self::parse)
    }

    /// Whether this is one of its names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.alternative_names.iter().any(|own| own == name)
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
        let is_lower_here = find(attributes, IFLA_LINK_NETNSID).is_none();
        Ok(Self {
            index: header.index,
            name: text(name),
            alternative_names: find(attributes, IFLA_PROP_LIST)
                .map(|properties| find_all(&properties, IFLA_ALT_IFNAME).map(text).collect())
                .unwrap_or_default(),
            up: header.flags.contains(LinkFlags::Up),
            carrier: header.flags.contains(LinkFlags::LowerUp),
            gso_max_segs: number(IFLA_GSO_MAX_SEGS)?,
            gro_max_bytes: number(IFLA_GRO_MAX_SIZE).ok(),
            gro_max_ipv4_bytes: number(IFLA_GRO_IPV4_MAX_SIZE).ok(),
            mtu_bytes: number(IFLA_MTU)?,
            queue_packets: number(IFLA_TXQLEN)?,
            queues: number(IFLA_NUM_TX_QUEUES)?,
            kind: find(attributes, IFLA_LINKINFO)
                .and_then(|info| find(&info, IFLA_INFO_KIND))
                .map(text)
                .unwrap_or_default(),
            hardware: header.link_layer_type.into(),
            address: find(attributes, IFLA_ADDRESS)
                .and_then(|value| <[u8; 6]>::try_from(value).ok())
                .unwrap_or_default(),
            lower: number(IFLA_LINK).ok().filter(|_| is_lower_here),
            master: number(IFLA_MASTER).ok(),
        })
    }

    /// Limit how many bytes are merged into one packet of what is received; up to 65,536 of IPv4 as well.
    pub fn limit_merged(index: u32, bytes: u32) -> Request {
        change(index, IFLA_GRO_MAX_SIZE, bytes)
    }

    /// The same of IPv4 alone.
    pub fn limit_merged_ipv4(index: u32, bytes: u32) -> Request {
        change(index, IFLA_GRO_IPV4_MAX_SIZE, bytes)
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

/// What the kernel answers about the device with this name; `None`: there is none.
fn ask_for<T>(
    netlink: &mut Netlink,
    name: &str,
    parse: impl Fn(&[u8]) -> Result<T, NetlinkError>,
) -> Result<Option<T>, NetlinkError> {
    let mut message = LinkMessage::default();
    let attribute = if name.len() < libc::IFNAMSIZ {
        LinkAttribute::IfName(name.to_owned())
    } else {
        let bytes = [name.as_bytes(), b"\0"].concat();
        LinkAttribute::Other(DefaultNla::new(IFLA_ALT_IFNAME, bytes))
    };
    message.attributes.push(attribute);
    match netlink.ask(RouteNetlinkMessage::GetLink(message), 0) {
        Ok(answers) => answers.first().map(|payload| parse(payload)).transpose(),
        Err(NetlinkError::Refused(refusal)) if refusal.errno == libc::ENODEV => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a device has sent and received since it is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Of the same device they grow only.
    pub index: u32,
    /// As its driver counts.
    pub sent_packets: u64,
    /// With headers of layer 2.
    pub sent_bytes: u64,
    /// Before anything looks at them.
    pub received_packets: u64,
    /// Mostly with headers of layer 2.
    pub received_bytes: u64,
}

impl Traffic {
    /// Of the device with this name; `None`: there is none.
    pub fn of_device(netlink: &mut Netlink, name: &str) -> Result<Option<Self>, NetlinkError> {
        ask_for(netlink, name, Self::parse)
    }

    fn parse(payload: &[u8]) -> Result<Self, NetlinkError> {
        let header = LinkHeader::parse(payload).map_err(|_| NetlinkError::Malformed)?;
        let attributes = payload
            .get(IFINFOMSG_LEN..)
            .ok_or(NetlinkError::Malformed)?;
        let stats = find(attributes, IFLA_STATS64).ok_or(NetlinkError::Malformed)?;
        // struct rtnl_link_stats64
        let number = |at: usize| {
            let bytes = stats.get(8 * at..8 * at + 8);
            let bytes = bytes.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
            bytes.map(u64::from_ne_bytes).ok_or(NetlinkError::Malformed)
        };
        Ok(Self {
            index: header.index,
            received_packets: number(0)?,
            sent_packets: number(1)?,
            received_bytes: number(2)?,
            sent_bytes: number(3)?,
        })
    }
}

/// A number of a device, by its attribute.
fn change(index: u32, attribute: u16, value: u32) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    let attribute = DefaultNla::new(attribute, value.to_ne_bytes().to_vec());
    message.attributes.push(LinkAttribute::Other(attribute));
    Request {
        message: RouteNetlinkMessage::SetLink(message),
        flags: NLM_F_ACK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NESTED: u16 = 1 << 15;

    /// An attribute as the kernel lays it out.
    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = 4 + value.len() as u16;
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// The answer for eth0, number 3, with more attributes.
    fn eth0(more: &[u8]) -> Vec<u8> {
        let mut answer = vec![0u8; IFINFOMSG_LEN];
        answer[4] = 3;
        answer.extend(attribute(IFLA_IFNAME, b"eth0\0"));
        for kind in [IFLA_MTU, IFLA_TXQLEN, IFLA_NUM_TX_QUEUES, IFLA_GSO_MAX_SEGS] {
            answer.extend(attribute(kind, &9u32.to_ne_bytes()));
        }
        answer.extend(more);
        answer
    }

    fn properties(names: &[&str]) -> Vec<u8> {
        let names = names
            .iter()
            .map(|name| attribute(IFLA_ALT_IFNAME, format!("{name}\0").as_bytes()));
        attribute(IFLA_PROP_LIST | NESTED, &names.collect::<Vec<_>>().concat())
    }

    #[test]
    fn a_device_is_called_by_all_of_its_names() {
        let names = ["enp1s0f0np0", "a-name-of-more-than-15-bytes"];
        let device = Device::parse(&eth0(&properties(&names))).expect("it can be read");
        assert_eq!((device.index, &*device.name), (3, "eth0"));
        assert_eq!(device.alternative_names, names);
        for name in names.into_iter().chain(["eth0"]) {
            assert!(device.is_called(name), "{name}");
        }
        for name in ["", "eth", "eth00", "enp1s0f0np"] {
            assert!(!device.is_called(name), "{name}");
        }
    }

    /// Kernels before 5.5 have no such list.
    #[test]
    fn without_properties_there_is_one_name() {
        for more in [vec![], properties(&[]), attribute(IFLA_PROP_LIST, &[1, 2])] {
            let device = Device::parse(&eth0(&more)).expect("it can be read");
            assert_eq!(device.alternative_names, [""; 0]);
            assert!(device.is_called("eth0"));
        }
    }

    #[test]
    fn a_list_that_is_cut_does_no_harm() {
        let whole = eth0(&properties(&["enp1s0f0np0", "wan"]));
        for end in 0..whole.len() {
            let _ = Device::parse(&whole[..end]);
        }
    }
}

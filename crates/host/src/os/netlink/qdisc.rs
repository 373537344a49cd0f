//! Root qdiscs: reading, attaching and removing them.

use std::fmt;

use netlink_packet_core::{DefaultNla, NLA_F_NESTED, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::{
    RouteNetlinkMessage,
    tc::{TcAttribute, TcHandle, TcHeader, TcMessage},
};
use serde::{Deserialize, Serialize};

use super::{
    codel_times::to_be_listed,
    socket::{Netlink, NetlinkError, Request, find, text},
};

pub(super) const TCMSG_LEN: usize = 20;
pub(super) const TCA_KIND: u16 = 1;
pub(super) const TCA_OPTIONS: u16 = 2;
pub(super) const TCA_STAB: u16 = 8;

const CLSACT: &str = "clsact";
const INGRESS: &str = "ingress";

/// `major:minor`, as `tc` prints it (in hexadecimal).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handle(pub u32);

impl Handle {
    pub const ROOT: Self = Self(u32::MAX);
    /// A qdisc without a handle is the kernel's own default.
    pub const DEFAULT: Self = Self(0);
    /// A device's clsact, and its filters for packets that leave and that arrive.
    pub const CLSACT: Self = Self(0xffff_fff1);
    pub const INGRESS: Self = Self(0xffff_fff2);
    pub const EGRESS: Self = Self(0xffff_fff3);

    fn to_tc(self) -> TcHandle {
        TcHandle::from(self.0)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 & 0xffff {
            0 => write!(f, "{:x}:", self.0 >> 16),
            minor => write!(f, "{:x}:{minor:x}", self.0 >> 16),
        }
    }
}

/// A qdisc or class as the kernel lists it; its options are kept unparsed, so that they can be
/// restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qdisc {
    pub kind: String,
    pub handle: Handle,
    pub parent: Handle,
    pub options: Vec<u8>,
    /// How it computes packets' sizes, as the kernel lists that; empty: it takes them as they are.
    /// Records of an earlier takt have none.
    #[serde(default)]
    pub sizes: Vec<u8>,
}

impl Qdisc {
    /// All qdiscs of a device.
    pub fn list(netlink: &mut Netlink, device: u32) -> Result<Vec<Self>, NetlinkError> {
        Self::dump(netlink, device, RouteNetlinkMessage::GetQueueDiscipline)
    }

    /// All classes of a device's qdiscs.
    pub fn list_classes(netlink: &mut Netlink, device: u32) -> Result<Vec<Self>, NetlinkError> {
        Self::dump(netlink, device, RouteNetlinkMessage::GetTrafficClass)
    }

    /// All filters on a device's root qdisc.
    pub fn list_filters(netlink: &mut Netlink, device: u32) -> Result<Vec<Self>, NetlinkError> {
        Self::dump(netlink, device, RouteNetlinkMessage::GetTrafficFilter)
    }

    /// Whether there are filters below a qdisc, or in clsact's one direction.
    pub fn has_filters(
        netlink: &mut Netlink,
        device: u32,
        parent: Handle,
    ) -> Result<bool, NetlinkError> {
        let request = RouteNetlinkMessage::GetTrafficFilter;
        Ok(!dump_below(netlink, device, parent, request)?.is_empty())
    }

    pub fn is_clsact(&self) -> bool {
        self.kind == CLSACT
    }

    /// Whether filters for packets that arrive can be put there.
    pub fn is_ingress(&self) -> bool {
        self.is_clsact() || self.kind == INGRESS
    }

    /// Make the device's clsact, unless it has one.
    pub fn make_clsact(device: u32) -> Request {
        let mut message = clsact_of(device);
        message
            .attributes
            .push(TcAttribute::Kind(CLSACT.to_owned()));
        Request {
            message: RouteNetlinkMessage::NewQueueDiscipline(message),
            flags: NLM_F_CREATE,
        }
    }

    /// Remove the device's clsact.
    pub fn remove_clsact(device: u32) -> Request {
        Request {
            message: RouteNetlinkMessage::DelQueueDiscipline(clsact_of(device)),
            flags: 0,
        }
    }

    fn dump(
        netlink: &mut Netlink,
        device: u32,
        request: impl FnOnce(TcMessage) -> RouteNetlinkMessage,
    ) -> Result<Vec<Self>, NetlinkError> {
        dump(netlink, device, request)?
            .iter()
            .map(|(header, payload)| Self::parse(header, payload))
            .collect()
    }

    pub(super) fn parse(header: &TcHeader, payload: &[u8]) -> Result<Self, NetlinkError> {
        let attributes = payload.get(TCMSG_LEN..).ok_or(NetlinkError::Malformed)?;
        Ok(Self {
            kind: find(attributes, TCA_KIND).map(text).unwrap_or_default(),
            handle: Handle(header.handle.into()),
            parent: Handle(header.parent.into()),
            options: find(attributes, TCA_OPTIONS).unwrap_or_default(),
            sizes: find(attributes, TCA_STAB).unwrap_or_default(),
        })
    }

    /// Attach this qdisc as the root of a device, in place of the present one.
    pub fn set_root(&self, device: u32) -> Request {
        let mut message = root_of(device, self.handle);
        message
            .attributes
            .push(TcAttribute::Kind(self.kind.clone()));
        let options = to_be_listed(&self.kind, &self.options);
        // Some kinds demand the flag, and others ignore it.
        let options_kind = TCA_OPTIONS | NLA_F_NESTED;
        for (kind, value) in [(options_kind, options), (TCA_STAB, self.sizes.clone())] {
            if !value.is_empty() {
                let attribute = DefaultNla::new(kind, value);
                message.attributes.push(TcAttribute::Other(attribute));
            }
        }
        Request {
            message: RouteNetlinkMessage::NewQueueDiscipline(message),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
        }
    }

    /// Remove the root qdisc; the kernel attaches its default again.
    pub fn delete_root(device: u32) -> Request {
        Request {
            message: RouteNetlinkMessage::DelQueueDiscipline(root_of(device, Handle::DEFAULT)),
            flags: 0,
        }
    }
}

/// What the kernel lists of a device: headers, and whole payloads.
pub(super) fn dump(
    netlink: &mut Netlink,
    device: u32,
    request: impl FnOnce(TcMessage) -> RouteNetlinkMessage,
) -> Result<Vec<(TcHeader, Vec<u8>)>, NetlinkError> {
    dump_below(netlink, device, Handle::DEFAULT, request)
}

/// The same of what is below a class or qdisc.
pub(super) fn dump_below(
    netlink: &mut Netlink,
    device: u32,
    parent: Handle,
    request: impl FnOnce(TcMessage) -> RouteNetlinkMessage,
) -> Result<Vec<(TcHeader, Vec<u8>)>, NetlinkError> {
    let mut message = TcMessage::with_index(device as i32);
    message.header.parent = parent.to_tc();
    let mut found = Vec::new();
    for payload in netlink.dump(request(message))? {
        let header = TcHeader::parse(&payload).map_err(|_| NetlinkError::Malformed)?;
        // Some dumps ignore the device they were asked for.
        if header.index == device as i32 {
            found.push((header, payload));
        }
    }
    Ok(found)
}

fn clsact_of(device: u32) -> TcMessage {
    const HANDLE: Handle = Handle(0xffff_0000);
    let mut message = TcMessage::with_index(device as i32);
    message.header.handle = HANDLE.to_tc();
    message.header.parent = Handle::CLSACT.to_tc();
    message
}

fn root_of(device: u32, handle: Handle) -> TcMessage {
    let mut message = TcMessage::with_index(device as i32);
    message.header.handle = handle.to_tc();
    message.header.parent = Handle::ROOT.to_tc();
    message
}

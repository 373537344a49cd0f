//! BPF programs as filters.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;

use super::{
    Handle, Netlink, NetlinkError, Request,
    htb::{attribute, message},
    qdisc::{TCA_OPTIONS, TCMSG_LEN, dump_below},
    socket::{find, text},
};

const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const FILTER_PRIORITY: u32 = 0x7a80;
const FILTER_HANDLE: u32 = 1;
const ETH_P_ALL: u16 = 3;

/// A BPF program that sees a qdisc's packets, or those of clsact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Classifier {
    pub name: String,
    /// The program's number.
    pub id: u32,
}

impl Classifier {
    /// Have this qdisc, or clsact in one direction, use this loaded program in the place of the one
    /// before.
    pub fn set(device: u32, parent: Handle, program: i32, name: &str) -> Request {
        let mut options = match parent {
            Handle::EGRESS => Vec::new(),
            // The program chooses minor numbers; the major one comes from here.
            qdisc => attribute(TCA_BPF_CLASSID, &qdisc.0.to_ne_bytes()),
        };
        options.extend(attribute(TCA_BPF_FD, &program.to_ne_bytes()));
        options.extend(attribute(TCA_BPF_NAME, &[name.as_bytes(), b"\0"].concat()));
        options.extend(attribute(
            TCA_BPF_FLAGS,
            &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes(),
        ));
        let mut message = message(device, parent, Handle(FILTER_HANDLE), "bpf", options);
        message.header.info = filter_info();
        Request {
            message: RouteNetlinkMessage::NewTrafficFilter(message),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
        }
    }

    /// Remove takt's from clsact.
    pub fn remove(device: u32, parent: Handle) -> Request {
        let mut message = message(device, parent, Handle(FILTER_HANDLE), "bpf", Vec::new());
        message.header.info = filter_info();
        Request {
            message: RouteNetlinkMessage::DelTrafficFilter(message),
            flags: 0,
        }
    }

    /// Those of a qdisc, or of clsact in one direction.
    pub fn list(
        netlink: &mut Netlink,
        device: u32,
        parent: Handle,
    ) -> Result<Vec<Self>, NetlinkError> {
        let listed = dump_below(
            netlink,
            device,
            parent,
            RouteNetlinkMessage::GetTrafficFilter,
        )?;
        let found = listed.iter().map(|(_, payload)| Self::parse(payload));
        found.filter_map(Result::transpose).collect()
    }

    /// `None`: it is a filter of another kind.
    pub(super) fn parse(payload: &[u8]) -> Result<Option<Self>, NetlinkError> {
        let attributes = payload.get(TCMSG_LEN..).ok_or(NetlinkError::Malformed)?;
        let options = find(attributes, TCA_OPTIONS).unwrap_or_default();
        let id = find(&options, TCA_BPF_ID).and_then(|id| <[u8; 4]>::try_from(id).ok());
        let name = find(&options, TCA_BPF_NAME);
        Ok(name.zip(id).map(|(name, id)| Self {
            name: text(name),
            id: u32::from_ne_bytes(id),
        }))
    }
}

/// Priority and protocol.
fn filter_info() -> u32 {
    FILTER_PRIORITY << 16 | u32::from(ETH_P_ALL.to_be())
}

//! A filter on a device's ingress that sends all packets out by another device.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;

use super::{
    Handle, Netlink, NetlinkError, Request,
    htb::{attribute, message},
    qdisc::{TCA_KIND, TCA_OPTIONS, TCMSG_LEN, dump_below},
    socket::{find, text},
};

const MATCHALL: &str = "matchall";
const TCA_MATCHALL_ACT: u16 = 2;
/// The first of a filter's actions.
const FIRST: u16 = 1;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_MIRRED_PARMS: u16 = 2;
/// Behind index, capabilities, action and two counts, and what it does, in `struct tc_mirred`.
const DEVICE_AT: usize = 24;
const TC_ACT_STOLEN: u32 = 4;
const TCA_EGRESS_REDIR: u32 = 1;
const NESTED: u16 = 1 << 15;

/// After the filters of other programs, which go by lower numbers.
const PRIORITY: u32 = 0x7a81;
const ETH_P_ALL: u16 = 3;
const HANDLE: Handle = Handle(1);

/// A filter that sends all packets out by another device, where they come in again if it is an ifb.
pub(crate) struct Redirect;

impl Redirect {
    /// Have the device's packets go through that one. The kernel refuses it while takt's filter is there.
    pub fn set(device: u32, through: u32) -> Request {
        let parameters = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, through];
        let parameters = parameters.map(u32::to_ne_bytes).concat();
        let options = attribute(TCA_MIRRED_PARMS, &parameters);
        let action = [
            attribute(TCA_ACT_KIND, b"mirred\0"),
            attribute(TCA_ACT_OPTIONS | NESTED, &options),
        ];
        let actions = attribute(FIRST | NESTED, &action.concat());
        let options = attribute(TCA_MATCHALL_ACT | NESTED, &actions);
        let mut message = message(device, Handle::INGRESS, HANDLE, MATCHALL, options);
        message.header.info = info();
        Request {
            message: RouteNetlinkMessage::NewTrafficFilter(message),
            flags: NLM_F_CREATE | NLM_F_EXCL,
        }
    }

    /// Remove takt's.
    pub fn remove(device: u32) -> Request {
        let mut message = message(device, Handle::INGRESS, HANDLE, MATCHALL, Vec::new());
        message.header.info = info();
        Request {
            message: RouteNetlinkMessage::DelTrafficFilter(message),
            flags: 0,
        }
    }

    /// The devices that filters of takt's send this one's packets through; one at most.
    pub fn list(netlink: &mut Netlink, device: u32) -> Result<Vec<u32>, NetlinkError> {
        let request = RouteNetlinkMessage::GetTrafficFilter;
        let listed = dump_below(netlink, device, Handle::INGRESS, request)?;
        let ours = listed.iter().filter(|(header, _)| header.info == info());
        Ok(ours.filter_map(|(_, payload)| through(payload)).collect())
    }
}

/// `None`: it does not redirect.
fn through(payload: &[u8]) -> Option<u32> {
    let attributes = payload.get(TCMSG_LEN..)?;
    if find(attributes, TCA_KIND).map(text)? != MATCHALL {
        return None;
    }
    let options = find(attributes, TCA_OPTIONS)?;
    let actions = find(&options, TCA_MATCHALL_ACT)?;
    let action = find(&actions, FIRST)?;
    let options = find(&action, TCA_ACT_OPTIONS)?;
    let parameters = find(&options, TCA_MIRRED_PARMS)?;
    let device = parameters.get(DEVICE_AT..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*device))
}

fn info() -> u32 {
    PRIORITY << 16 | u32::from(ETH_P_ALL.to_be())
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;

    use super::*;

    #[test]
    fn what_is_set_is_what_is_read() {
        let RouteNetlinkMessage::NewTrafficFilter(message) = Redirect::set(3, 7).message else {
            panic!("a filter");
        };
        let mut payload = vec![0; message.buffer_len()];
        message.emit(&mut payload);
        assert_eq!(through(&payload), Some(7));
        for end in 0..payload.len() {
            let _ = through(&payload[..end]);
        }
    }
}

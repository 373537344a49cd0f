//! A device by one of its names.

use netlink_packet_core::{
    DefaultNla, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{LinkAttribute, LinkMessage},
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::{if_indextoname, if_nametoindex};

const IFLA_ALT_IFNAME: u16 = 53;
/// ALTIFNAMSIZ without the terminating zero.
const NAME_MAX_BYTES: usize = 127;

/// The number of a device, and its present name.
pub(super) fn find(name: &str) -> Option<(u32, String)> {
    // Names of up to 15 bytes, alternative ones as well.
    let index = if_nametoindex(name).ok().or_else(|| ask(name))?;
    let present = if_indextoname(index).ok()?.into_string().ok()?;
    Some((index, present))
}

/// Ask the kernel for the device with an alternative name.
fn ask(name: &str) -> Option<u32> {
    if name.is_empty() || name.len() > NAME_MAX_BYTES || name.contains('\0') {
        return None;
    }
    let mut value = name.as_bytes().to_vec();
    value.push(0);
    let mut question = LinkMessage::default();
    let property = DefaultNla::new(IFLA_ALT_IFNAME, value);
    question.attributes.push(LinkAttribute::Other(property));
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let payload = NetlinkPayload::from(RouteNetlinkMessage::GetLink(question));
    let mut message = NetlinkMessage::new(header, payload);
    message.finalize();
    let mut datagram = vec![0; message.buffer_len()];
    message.serialize(&mut datagram);

    let mut socket = Socket::new(NETLINK_ROUTE).ok()?;
    socket.bind_auto().ok()?;
    socket.connect(&SocketAddr::new(0, 0)).ok()?;
    socket.send(&datagram, 0).ok()?;
    // The kernel has answered before the call is over.
    let (answer, _) = socket.recv_from_full().ok()?;
    index_of(&answer)
}

/// Attributes are not read: those of a newer kernel may be unknown.
fn index_of(answer: &[u8]) -> Option<u32> {
    const TYPE_AT: usize = 4;
    const IFINDEX_AT: usize = 16 + 4;
    let kind = answer.get(TYPE_AT..)?.first_chunk().copied()?;
    let index = answer.get(IFINDEX_AT..)?.first_chunk().copied()?;
    (u16::from_ne_bytes(kind) == nix::libc::RTM_NEWLINK).then(|| u32::from_ne_bytes(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_number_1() {
        assert_eq!(find("lo"), Some((1, "lo".to_owned())));
        // The kernel takes any name for this question.
        assert_eq!(ask("lo"), Some(1));
    }

    #[test]
    fn no_device_is_called_so() {
        let long = "x".repeat(NAME_MAX_BYTES + 1);
        for name in [
            "",
            "no-such-device0",
            "no-such-device-of-28-bytes-0",
            "l\0o",
            &long,
        ] {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn only_a_device_has_a_number() {
        let mut answer = vec![0; 32];
        answer[4..6].copy_from_slice(&nix::libc::RTM_NEWLINK.to_ne_bytes());
        answer[20] = 7;
        assert_eq!(index_of(&answer), Some(7));
        for end in 0..24 {
            assert_eq!(index_of(&answer[..end]), None);
        }
        answer[4..6].copy_from_slice(&2u16.to_ne_bytes());
        assert_eq!(index_of(&answer), None, "an error");
    }
}

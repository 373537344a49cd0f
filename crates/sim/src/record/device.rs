//! A device by one of its names.

use netlink_packet_core::{
    DefaultNla, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{LinkAttribute, LinkMessage},
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::if_nametoindex;

/// Of a message (`struct nlmsghdr`).
const HEADER_BYTES: usize = 16;
const IFLA_ALT_IFNAME: u16 = 53;
/// ALTIFNAMSIZ without the terminating zero.
const NAME_MAX_BYTES: usize = 127;

/// A device of this network namespace.
pub(super) struct Found {
    pub index: u32,
    /// As `ARPHRD_*`.
    pub hardware: u16,
    /// The longest packet that it sends.
    pub mtu_bytes: u32,
}

/// The device of this name.
pub(super) fn find(name: &str) -> Option<Found> {
    // Names of up to 15 bytes, alternative ones as well.
    let index = if_nametoindex(name).ok().or_else(|| by_alternative(name))?;
    let mut question = LinkMessage::default();
    question.header.index = index;
    let answer = ask(question)?;
    Some(Found {
        index,
        hardware: hardware_of(&answer)?,
        mtu_bytes: mtu_of(&answer)?,
    })
}

/// The number of the device with an alternative name.
fn by_alternative(name: &str) -> Option<u32> {
    if name.is_empty() || name.len() > NAME_MAX_BYTES || name.contains('\0') {
        return None;
    }
    let mut value = name.as_bytes().to_vec();
    value.push(0);
    let mut question = LinkMessage::default();
    let property = DefaultNla::new(IFLA_ALT_IFNAME, value);
    question.attributes.push(LinkAttribute::Other(property));
    index_of(&ask(question)?)
}

/// The kernel's answer.
fn ask(question: LinkMessage) -> Option<Vec<u8>> {
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
    Some(socket.recv_from_full().ok()?.0)
}

/// Attributes are not read: those of a newer kernel may be unknown.
fn index_of(answer: &[u8]) -> Option<u32> {
    const IFINDEX_AT: usize = HEADER_BYTES + 4;
    is_link(answer)?;
    number_at(answer, IFINDEX_AT)
}

/// The `ifi_type` of `struct ifinfomsg`.
fn hardware_of(answer: &[u8]) -> Option<u16> {
    is_link(answer)?;
    let kind = answer.get(HEADER_BYTES + 2..)?.first_chunk().copied()?;
    Some(u16::from_ne_bytes(kind))
}

fn mtu_of(answer: &[u8]) -> Option<u32> {
    const ATTRIBUTES_AT: usize = HEADER_BYTES + 16;
    const HEADER: usize = 4;
    let mut left = answer.get(ATTRIBUTES_AT..)?;
    while let [length_low, length_high, kind_low, kind_high, ..] = *left {
        let length = usize::from(u16::from_ne_bytes([length_low, length_high]));
        let kind = u16::from_ne_bytes([kind_low, kind_high]);
        if kind == nix::libc::IFLA_MTU {
            return number_at(left, HEADER);
        }
        left = left.get(length.max(HEADER).next_multiple_of(HEADER)..)?;
    }
    None
}

fn is_link(answer: &[u8]) -> Option<()> {
    const TYPE_AT: usize = 4;
    let kind = answer.get(TYPE_AT..)?.first_chunk().copied()?;
    (u16::from_ne_bytes(kind) == nix::libc::RTM_NEWLINK).then_some(())
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    let number = bytes.get(at..)?.first_chunk().copied()?;
    Some(u32::from_ne_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_number_1() {
        let found = find("lo").expect("there is one");
        let kind = (found.index, found.hardware);
        assert_eq!(kind, (1, nix::libc::ARPHRD_LOOPBACK));
        assert!(found.mtu_bytes >= 1280, "{}", found.mtu_bytes);
        // The kernel takes any name for this question.
        assert_eq!(by_alternative("lo"), Some(1));
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
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn attributes_that_end_early_have_no_mtu() {
        let mut answer = vec![0; HEADER_BYTES + 16];
        answer[4..6].copy_from_slice(&nix::libc::RTM_NEWLINK.to_ne_bytes());
        answer.extend([5, 0, 3, 0, b'a', 0, 0, 0]);
        answer.extend([8, 0, 4, 0]);
        answer.extend(1500u32.to_ne_bytes());
        assert_eq!(mtu_of(&answer), Some(1500));
        for end in 0..answer.len() {
            assert_eq!(mtu_of(&answer[..end]), None, "{end}");
        }
        answer[HEADER_BYTES + 16] = 0;
        assert_eq!(mtu_of(&answer), None, "no length");
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

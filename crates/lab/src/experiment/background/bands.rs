//! The weights of fq's bands, which `tc` supports from iproute2 6.7 on. They are set through
//! netlink directly, so that fq is at its best with an older `tc`, too.

use std::io;
use std::os::fd::AsRawFd;

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType};
use nix::sys::socket::{recv, send, socket};

use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::{A, DEVICE};

/// fq's handle and its parent, as [`contender`](super::contender) has them.
const HANDLE: u32 = 2 << 16;
const PARENT: u32 = 1 << 16 | 1;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_FQ_WEIGHTS: u16 = 17;
const NLA_F_NESTED: u16 = 1 << 15;

/// Bytes that a band may send before the next gets its turn: practically unlimited for the
/// first bands, and the least that fq accepts for the last one.
const WEIGHTS: [i32; 3] = [i32::MAX / 2, i32::MAX / 2, 1 << 14];

/// Sets the weights of the fq behind the device buffer.
pub fn set_weights() -> Result<()> {
    A.run(|| {
        let device = if_nametoindex(DEVICE).doing("find the sending device")?;
        let netlink = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )
        .doing("open a netlink socket")?;
        send(netlink.as_raw_fd(), &request(device), MsgFlags::empty())
            .doing("send a netlink request")?;
        let mut answer = [0; 4096];
        let length = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())
            .doing("receive a netlink answer")?;
        match errno(&answer[..length]) {
            Some(0) => Ok(()),
            Some(errno) => Err(io::Error::from_raw_os_error(-errno)).doing("set fq's weights"),
            None => Err(ExperimentError::Output {
                command: "netlink".to_owned(),
                reason: "no acknowledgement".to_owned(),
            }),
        }
    })
}

/// `struct nlmsghdr`, `struct tcmsg`, and the attributes.
fn request(device: u32) -> Vec<u8> {
    let weights = WEIGHTS.map(i32::to_ne_bytes).concat();
    let attributes = [
        attribute(TCA_KIND, b"fq\0"),
        attribute(
            TCA_OPTIONS | NLA_F_NESTED,
            &attribute(TCA_FQ_WEIGHTS, &weights),
        ),
    ]
    .concat();
    let tcmsg = [0, device, HANDLE, PARENT, 0]
        .map(u32::to_ne_bytes)
        .concat();
    let length = 16 + tcmsg.len() + attributes.len();
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u32;
    // Type and flags are two halves of one word.
    let kind = u32::from(libc::RTM_NEWQDISC) | flags << 16;
    let header = [length as u32, kind, 1, 0].map(u32::to_le_bytes).concat();
    [header, tcmsg, attributes].concat()
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = [(length as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The error number in an `NLMSG_ERROR`; zero means success.
fn errno(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let number = answer.get(16..20)?.try_into().ok()?;
    (i32::from(kind) == libc::NLMSG_ERROR).then(|| i32::from_ne_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_end_on_a_word() {
        assert_eq!(attribute(1, b"fq\0"), *b"\x07\0\x01\0fq\0\0");
        assert_eq!(request(3).len(), 16 + 20 + 8 + 4 + 16);
    }

    #[test]
    fn an_answer_without_an_error_number_is_none() {
        assert_eq!(errno(&[0; 8]), None);
    }
}

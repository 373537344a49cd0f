//! A netlink socket: dumps, and requests that are carried out in one system call.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{
    Socket, SocketAddr,
    protocols::{NETLINK_GENERIC, NETLINK_ROUTE},
};
use nix::sys::{
    socket::{setsockopt, sockopt::ReceiveTimeout},
    time::{TimeVal, TimeValLike},
};
use thiserror::Error;

/// Why a request failed.
#[derive(Debug, Error)]
pub enum NetlinkError {
    /// The socket could not be opened, written or read.
    #[error("the kernel's netlink socket failed: {0}")]
    Io(#[from] io::Error),
    /// An answer is shorter than its kind must be, or lacks an attribute that takt needs.
    #[error("the kernel's answer on the netlink socket cannot be read")]
    Malformed,
    /// The kernel's error.
    #[error("{0}")]
    Refused(Refusal),
}

impl NetlinkError {
    /// As in `errno(3)`, where there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io(error) => error.raw_os_error(),
            Self::Malformed => None,
            Self::Refused(refusal) => Some(refusal.errno),
        }
    }
}

/// The kernel refused.
#[derive(Debug, Clone, Error)]
#[error("{}{}", io::Error::from_raw_os_error(*errno), message.as_ref().map(|m| format!(" ({m})")).unwrap_or_default())]
pub struct Refusal {
    /// As in `errno(3)`, above 0.
    pub errno: i32,
    /// The kernel's message, if any.
    pub message: Option<String>,
}

/// A request and its flags (`NLM_F_CREATE`, …).
#[derive(Clone)]
pub struct Request {
    pub message: RouteNetlinkMessage,
    pub flags: u16,
}

pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// Offset of the attributes in an error message when the request is not echoed.
pub(super) const ERROR_ATTRIBUTES: usize = 4 + size_of::<libc::nlmsghdr>();
/// Likewise in the message that ends a dump.
pub(super) const DONE_ATTRIBUTES: usize = 4;
const NLMSGERR_ATTR_MSG: u16 = 1;

/// How long to wait for an answer.
const PATIENCE_S: i64 = 30;

/// Linux 5.14; not in libc yet.
const SO_NETNS_COOKIE: libc::c_int = 71;

impl Netlink {
    /// For devices and qdiscs.
    pub fn open() -> Result<Self, NetlinkError> {
        let netlink = Self::of_protocol(NETLINK_ROUTE)?;
        netlink.socket.set_netlink_get_strict_chk(true)?;
        Ok(netlink)
    }

    /// For families that come and go with modules, such as nl80211.
    pub(super) fn open_generic() -> Result<Self, NetlinkError> {
        Self::of_protocol(NETLINK_GENERIC)
    }

    fn of_protocol(protocol: isize) -> Result<Self, NetlinkError> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        bound_waiting(&socket)?;
        socket.set_cap_ack(true)?;
        socket.set_ext_ack(true)?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// The kernel's cookie of this socket's network namespace.
    pub fn netns_cookie(&self) -> Result<u64, NetlinkError> {
        let mut cookie = 0u64;
        let mut size = size_of_val(&cookie) as libc::socklen_t;
        // SAFETY: the kernel writes at most `size` bytes to `cookie`.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                SO_NETNS_COOKIE,
                (&raw mut cookie).cast(),
                &raw mut size,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error().into());
        }
        Ok(cookie)
    }

    /// Every payload the kernel answers `request` with.
    pub fn dump(&mut self, message: RouteNetlinkMessage) -> Result<Vec<Vec<u8>>, NetlinkError> {
        self.ask(message, NLM_F_DUMP)
    }

    /// Likewise for any family; without `NLM_F_DUMP` there is one payload.
    pub(super) fn ask<M: NetlinkSerializable>(
        &mut self,
        message: M,
        flags: u16,
    ) -> Result<Vec<Vec<u8>>, NetlinkError> {
        let mut datagram = Vec::new();
        self.add(message, flags, &mut datagram);
        self.socket.send(&datagram, 0)?;
        let mut found = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            for part in messages(&datagram) {
                let part = part?;
                match part.message_type() {
                    // A failed dump has the error in its last message.
                    NLMSG_DONE => match refusal(part.payload(), DONE_ATTRIBUTES)? {
                        Some(refusal) => return Err(NetlinkError::Refused(refusal)),
                        None => return Ok(found),
                    },
                    NLMSG_ERROR => match refusal(part.payload(), ERROR_ATTRIBUTES)? {
                        Some(refusal) => return Err(NetlinkError::Refused(refusal)),
                        None if flags & NLM_F_DUMP == 0 => return Ok(found),
                        None => {}
                    },
                    _ => found.push(part.payload().to_vec()),
                }
            }
        }
    }

    /// Hand all requests to the kernel in a single system call, which works through them before
    /// it returns: a signal, SIGKILL included, takes effect before the first or after the last.
    /// One answer per request, in order.
    pub fn batch(
        &mut self,
        requests: &[Request],
    ) -> Result<Vec<Result<(), Refusal>>, NetlinkError> {
        let first = self.send(requests)?;
        let mut answers: Vec<Option<Result<(), Refusal>>> = vec![None; requests.len()];
        while answers.iter().any(Option::is_none) {
            let (datagram, _) = self.socket.recv_from_full()?;
            for part in messages(&datagram) {
                let part = part?;
                let index = part.sequence_number().wrapping_sub(first) as usize;
                if part.message_type() == NLMSG_ERROR && index < answers.len() {
                    answers[index] =
                        Some(refusal(part.payload(), ERROR_ATTRIBUTES)?.map_or(Ok(()), Err));
                }
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Likewise, but any refusal is an error.
    pub fn all(&mut self, requests: &[Request]) -> Result<(), NetlinkError> {
        let answers = self.batch(requests)?;
        let refused = answers.into_iter().find_map(Result::err);
        refused.map_or(Ok(()), |refusal| Err(NetlinkError::Refused(refusal)))
    }

    /// Send as one datagram; returns the sequence number of the first request.
    fn send(&mut self, requests: &[Request]) -> Result<u32, NetlinkError> {
        let first = self.sequence.wrapping_add(1);
        let mut datagram = Vec::new();
        for request in requests {
            self.add(request.message.clone(), request.flags, &mut datagram);
        }
        self.socket.send(&datagram, 0)?;
        Ok(first)
    }

    fn add<M: NetlinkSerializable>(&mut self, message: M, flags: u16, datagram: &mut Vec<u8>) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let start = datagram.len();
        datagram.resize(start + message.buffer_len().next_multiple_of(4), 0);
        message.serialize(&mut datagram[start..]);
    }
}

/// The kernel answers at once. An answer for which the socket's buffer had no room never comes.
fn bound_waiting(socket: &Socket) -> io::Result<()> {
    // SAFETY: the socket is open while it is borrowed here.
    let socket = unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) };
    let patience = TimeVal::seconds(PATIENCE_S);
    Ok(setsockopt(&socket, ReceiveTimeout, &patience)?)
}

/// The messages of one datagram.
pub(super) fn messages(
    mut datagram: &[u8],
) -> impl Iterator<Item = Result<NetlinkBuffer<&[u8]>, NetlinkError>> {
    std::iter::from_fn(move || {
        if datagram.is_empty() {
            return None;
        }
        let Ok(message) = NetlinkBuffer::new_checked(datagram) else {
            datagram = &[];
            return Some(Err(NetlinkError::Malformed));
        };
        let length = (message.length() as usize).next_multiple_of(4);
        datagram = datagram.get(length..).unwrap_or_default();
        Some(Ok(message))
    })
}

/// The error in an error message or at the end of a dump, whose attributes begin there; `None`:
/// success.
pub(super) fn refusal(payload: &[u8], attributes: usize) -> Result<Option<Refusal>, NetlinkError> {
    let (code, _) = payload
        .split_first_chunk::<4>()
        .ok_or(NetlinkError::Malformed)?;
    let errno = match i32::from_ne_bytes(*code).checked_neg() {
        None => return Err(NetlinkError::Malformed),
        Some(0) => return Ok(None),
        Some(errno) => errno,
    };
    let attributes = payload.get(attributes..).unwrap_or_default();
    Ok(Some(Refusal {
        errno,
        message: find(attributes, NLMSGERR_ATTR_MSG).map(text),
    }))
}

/// The value of the first attribute of a kind.
pub(super) fn find(attributes: &[u8], kind: u16) -> Option<Vec<u8>> {
    find_all(attributes, kind).next()
}

/// Those of all attributes of a kind.
pub(super) fn find_all(attributes: &[u8], kind: u16) -> impl Iterator<Item = Vec<u8>> {
    NlasIterator::new(attributes)
        .map_while(Result::ok)
        .filter(move |nla| nla.kind() == kind)
        .map(|nla| nla.value().to_vec())
}

/// A zero-terminated string attribute.
pub(super) fn text(value: Vec<u8>) -> String {
    let end = value
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_dump_says_whether_it_failed() {
        let refused = |payload: &[u8]| refusal(payload, DONE_ATTRIBUTES).expect("it can be read");
        assert!(refused(&[0; 4]).is_none());
        let mut payload = (-libc::ENODEV).to_ne_bytes().to_vec();
        assert_eq!(refused(&payload).expect("an error").errno, libc::ENODEV);
        payload.extend(8u16.to_ne_bytes());
        payload.extend(NLMSGERR_ATTR_MSG.to_ne_bytes());
        payload.extend(b"why\0");
        let refusal = refused(&payload).expect("an error");
        assert_eq!(refusal.message.as_deref(), Some("why"));
        assert!(super::refusal(&[0; 3], DONE_ATTRIBUTES).is_err());
        let no_errno = i32::MIN.to_ne_bytes();
        assert!(super::refusal(&no_errno, DONE_ATTRIBUTES).is_err());
    }
}

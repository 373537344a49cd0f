//! Notifications of devices and qdiscs that come, go or change.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use netlink_packet_core::NetlinkBuffer;
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};

use super::{Handle, socket::messages};

/// Notifications read by one call. What is left makes the socket readable again.
const READS_MAX: usize = 256;

/// Offsets in `struct ifinfomsg` and `struct tcmsg`.
const IFINDEX_AT: usize = 4;
const PARENT_AT: usize = 12;

/// A change of this network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// A device is gone, or has moved to another network namespace.
    Gone { ifindex: u32 },
    /// A device has another root qdisc, or none of its own any more.
    Root {
        ifindex: u32,
        /// The netlink socket that asked for it; 0: the kernel did it itself.
        port: u32,
    },
    /// Another one, or several of which the kernel did not keep the notifications.
    Other,
}

/// Tells what changed in this network namespace.
pub(crate) struct Changes(Socket);

impl Changes {
    /// From now on.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.set_non_blocking(true)?;
        socket.add_membership(libc::RTNLGRP_LINK)?;
        socket.add_membership(libc::RTNLGRP_TC)?;
        Ok(Self(socket))
    }

    /// Whether there were changes since the last call.
    pub fn take(&self) -> bool {
        let mut any = false;
        loop {
            let mut byte = [0u8; 1];
            // SAFETY: the buffer is as long as said; what does not fit is dropped.
            let read =
                unsafe { libc::recv(self.0.as_raw_fd(), byte.as_mut_ptr().cast(), byte.len(), 0) };
            // An overflow of the socket's buffer means changes, too.
            if read < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::ENOBUFS) {
                return any;
            }
            any = true;
        }
    }

    /// The changes since the last call, a bounded number of them.
    pub fn read(&self) -> Vec<Change> {
        let mut found = Vec::new();
        for _ in 0..READS_MAX {
            match self.0.recv_from_full() {
                Ok((datagram, _)) => found.extend(changes(&datagram)),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    found.push(Change::Other);
                }
                Err(_) => break,
            }
        }
        found
    }
}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The changes that one datagram tells of.
pub(super) fn changes(datagram: &[u8]) -> impl Iterator<Item = Change> {
    messages(datagram).map(|message| match message {
        Ok(message) => change(&message),
        Err(_) => Change::Other,
    })
}

fn change(message: &NetlinkBuffer<&[u8]>) -> Change {
    let payload = message.payload();
    let word = |at: usize| {
        let bytes = payload.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_ne_bytes(*bytes))
    };
    let Some(ifindex) = word(IFINDEX_AT) else {
        return Change::Other;
    };
    match message.message_type() {
        libc::RTM_DELLINK => Change::Gone { ifindex },
        libc::RTM_NEWQDISC | libc::RTM_DELQDISC if word(PARENT_AT) == Some(Handle::ROOT.0) => {
            Change::Root {
                ifindex,
                port: message.port_number(),
            }
        }
        _ => Change::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of this type from port 4711, with these words after the family.
    fn message(kind: u16, words: &[u32]) -> Vec<u8> {
        let length = 16 + 4 + 4 * words.len() as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 2]);
        bytes.extend([0u32, 4711].map(u32::to_ne_bytes).concat());
        bytes.extend([0; 4]);
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_datagram_tells_of_all_its_changes() {
        let root = Handle::ROOT.0;
        let datagram = [
            message(libc::RTM_DELQDISC, &[7, 0x7a00_0000, root]),
            message(libc::RTM_NEWQDISC, &[7, 0x8001_0000, 0x1_0001]),
            message(libc::RTM_NEWLINK, &[7, 0]),
            message(libc::RTM_DELLINK, &[7, 0]),
        ];
        let found: Vec<Change> = changes(&datagram.concat()).collect();
        let by = Change::Root {
            ifindex: 7,
            port: 4711,
        };
        let gone = Change::Gone { ifindex: 7 };
        assert_eq!(found, [by, Change::Other, Change::Other, gone]);
    }

    #[test]
    fn what_cannot_be_read_is_a_change() {
        let short = message(libc::RTM_DELLINK, &[]);
        assert_eq!(changes(&short).collect::<Vec<_>>(), [Change::Other]);
        assert_eq!(changes(&[1, 2, 3]).collect::<Vec<_>>(), [Change::Other]);
    }
}

//! Notifications of schedulers that the kernel begins or ends to run (sched_ext).

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use nix::{
    errno::Errno,
    sys::socket::{
        AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
    },
};

/// Those of the kernel itself, not udev's.
const KERNEL: u32 = 1;
/// In a notification's head, `ACTION@PATH`.
const SCHED_EXT: &[u8] = b"@/kernel/sched_ext/";
/// The head, and more than the kernel's longest path.
const HEAD_BYTES: usize = 4096;
/// Notifications read by one call. What is left makes the socket readable again.
const READS_MAX: usize = 256;

pub(crate) struct Schedulers(OwnedFd);

impl Schedulers {
    /// From now on.
    pub fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::NetlinkKObjectUEvent,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, KERNEL))?;
        Ok(Self(socket))
    }

    /// Whether there were changes since the last call.
    pub fn take(&self) -> bool {
        let mut any = false;
        let mut head = [0; HEAD_BYTES];
        for _ in 0..READS_MAX {
            match recv(self.0.as_raw_fd(), &mut head, MsgFlags::empty()) {
                Ok(bytes) => any |= is_of_schedulers(&head[..bytes.min(HEAD_BYTES)]),
                // Some were dropped, perhaps such ones.
                Err(Errno::ENOBUFS) => any = true,
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        any
    }
}

impl AsFd for Schedulers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn is_of_schedulers(notification: &[u8]) -> bool {
    let head = notification.split(|byte| *byte == 0).next();
    head.is_some_and(|head| {
        head.windows(SCHED_EXT.len())
            .any(|window| window == SCHED_EXT)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_are_told_from_devices() {
        let ended = b"remove@/kernel/sched_ext/root\0ACTION=remove\0SCXOPS=takt\0";
        assert!(is_of_schedulers(ended));
        let device = b"add@/devices/virtual/net/va\0DEVPATH=@/kernel/sched_ext/\0";
        assert!(!is_of_schedulers(device));
        assert!(!is_of_schedulers(b""));
    }
}

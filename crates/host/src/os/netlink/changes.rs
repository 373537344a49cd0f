//! Notifications of devices and qdiscs that come, go or change.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use netlink_sys::{Socket, protocols::NETLINK_ROUTE};

/// Tells that something changed in this network namespace, not what.
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
}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

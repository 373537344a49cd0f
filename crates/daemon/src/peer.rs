//! Who is at the other end of a connection.

use std::{
    io,
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{getsockopt, sockopt::PeerCredentials},
};

use crate::registry::Caller;

/// Not yet known to the C library's bindings.
const SO_NETNS_COOKIE: libc::c_int = 71;
const SO_PEERPIDFD: libc::c_int = 77;

/// As it was when it connected. An accepted socket belongs to the namespace of
/// whoever connected to it.
pub(crate) fn caller(stream: &UnixStream) -> io::Result<Caller> {
    let credentials = getsockopt(stream, PeerCredentials)?;
    Ok(Caller {
        uid: credentials.uid(),
        netns_cookie: option(stream, SO_NETNS_COOKIE)?,
    })
}

/// The process that connected.
pub(crate) struct Process {
    pub pid: i32,
    handle: OwnedFd,
}

impl Process {
    pub fn of(stream: &UnixStream) -> io::Result<Self> {
        let pid = getsockopt(stream, PeerCredentials)?.pid();
        let fd: libc::c_int = option(stream, SO_PEERPIDFD)?;
        // SAFETY: the kernel has just made it, for us.
        let handle = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { pid, handle })
    }

    /// While it is, its number is nobody else's.
    pub fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(self.handle.as_fd(), PollFlags::POLLIN)];
        self.pid > 0 && matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
    }
}

fn option<T: Default>(stream: &UnixStream, name: libc::c_int) -> io::Result<T> {
    let mut value = T::default();
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: an open socket, and a number of as many bytes as are said.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            (&raw mut value).cast(),
            &mut len,
        )
    };
    match result {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

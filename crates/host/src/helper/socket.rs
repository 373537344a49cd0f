//! A packet socket for the templates of one length.
//!
//! What it has sent is charged to its send buffer until the link has used it, so the buffer
//! bounds the stock, and the socket is writable again when half of it is used: no timer is
//! needed for the next sending.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    thread,
};

use nix::sys::socket::{setsockopt, sockopt};

/// Templates sent in one system call.
const BATCH: usize = 64;

pub(crate) struct TemplateSocket {
    fd: OwnedFd,
    frame: Vec<u8>,
}

/// The result of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    All,
    /// The send buffer is full: the stock is as large as allowed.
    Full,
    /// The link accepts no templates.
    Refused,
}

impl TemplateSocket {
    /// Sends copies of `frame` through a device's qdisc, with this mark.
    pub fn open(ifindex: u32, mark: u32, frame: Vec<u8>) -> io::Result<Self> {
        let fd = open()?;
        // SAFETY: zeroes are a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = ifindex as i32;
        // SAFETY: the address and its length belong together.
        let bound = unsafe {
            libc::bind(
                fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        if bound != 0 {
            return Err(io::Error::last_os_error());
        }
        setsockopt(&fd, sockopt::Mark, &mark)?;
        Ok(Self { fd, frame })
    }

    /// Bound the stock to about so many templates.
    pub fn bound(&self, templates: u32) -> io::Result<()> {
        // The kernel doubles the value, and reports the socket writable when less than half of
        // it is used.
        let bytes = templates as usize * charged_bytes(self.frame.len()) / 2;
        Ok(setsockopt(&self.fd, sockopt::SndBufForce, &bytes)?)
    }

    /// Send up to so many templates, without blocking.
    pub fn send(&self, templates: u32) -> io::Result<Sent> {
        let mut part = libc::iovec {
            iov_base: self.frame.as_ptr().cast_mut().cast(),
            iov_len: self.frame.len(),
        };
        // SAFETY: zeroes are a valid mmsghdr.
        let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        message.msg_hdr.msg_iov = &raw mut part;
        message.msg_hdr.msg_iovlen = 1;
        let mut messages = [message; BATCH];
        let mut left = templates as usize;
        while left > 0 {
            let count = left.min(BATCH);
            // SAFETY: count messages, each of one part, which all live here;
            // the kernel only reads the frame.
            let sent = unsafe {
                libc::sendmmsg(self.fd.as_raw_fd(), messages.as_mut_ptr(), count as u32, 0)
            };
            if sent < 0 {
                let error = io::Error::last_os_error();
                return match error.raw_os_error() {
                    Some(libc::EAGAIN) => Ok(Sent::Full),
                    Some(libc::ENOBUFS) => Ok(Sent::Refused),
                    Some(libc::EINTR) => continue,
                    _ => Err(error),
                };
            }
            left -= sent as usize;
        }
        Ok(Sent::All)
    }

    /// Whether any sent template is still held. A device without a carrier accepts everything
    /// and holds nothing.
    pub fn is_charged(&self) -> bool {
        let mut bytes: libc::c_int = 0;
        // SAFETY: an int that lives here, which is what this request writes.
        let done = unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        done != 0 || bytes > 0
    }
}

/// What was opened for a device, or `None` if that vanished since it was listed. The kernel
/// reports that, which causes another look.
pub(crate) fn unless_gone<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Closing a packet socket waits until no processor uses it any more, some 10 ms. Closing them
/// together waits once: one after the other, those of a link would take seconds.
pub(crate) fn close_together(sockets: Vec<TemplateSocket>) {
    thread::scope(|scope| {
        for socket in sockets {
            // If no thread can be started, close it here.
            let _ = thread::Builder::new().spawn_scoped(scope, move || drop(socket));
        }
    });
}

/// With protocol 0 it receives nothing.
fn open() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; the result is checked and owned.
    unsafe {
        match libc::socket(
            libc::AF_PACKET,
            libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
            0,
        ) {
            fd if fd < 0 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Whether this process may send templates.
pub(crate) fn try_open() -> io::Result<()> {
    open().map(drop)
}

impl AsFd for TemplateSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What the kernel charges for a frame: the size of its allocation, and the socket buffer's own
/// structures. An estimate that is too high only makes the stock larger.
fn charged_bytes(frame_bytes: usize) -> usize {
    const ROOM: usize = 64 + 320;
    const STRUCTURES: usize = 256;
    (frame_bytes + ROOM).next_power_of_two() + STRUCTURES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_gone_is_no_error() {
        if try_open().is_err() {
            return;
        }
        let gone = TemplateSocket::open(i32::MAX as u32, 1, vec![0; 60]);
        assert!(unless_gone(gone).unwrap().is_none());
        let nothing = unless_gone::<()>(Err(io::Error::from_raw_os_error(libc::EMFILE)));
        assert!(nothing.is_err());
    }
}

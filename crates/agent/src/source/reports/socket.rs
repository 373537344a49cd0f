//! UDP sockets that reports come in on.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    os::fd::AsRawFd,
};

use nix::{
    errno::Errno,
    libc,
    sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
    },
};

/// A few intervals' worth of reports.
const BUFFER_BYTES: usize = 256 * 1024;
const BUFFER_OF_ONE_BYTES: usize = 8 * 1024;

/// What the kernel says of a socket's memory (`SK_MEMINFO_*`), the last what it dropped.
const MEMINFO_NUMBERS: usize = 9;
const MEMINFO_DROPS: usize = 8;

/// For whoever sends there, on all addresses of this network namespace.
pub(super) fn open(port: u16) -> io::Result<UdpSocket> {
    listen(port, BUFFER_BYTES)
}

/// For one sender alone.
pub(super) fn open_connected(port: u16, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = listen(port, BUFFER_OF_ONE_BYTES)?;
    socket.connect(to)?;
    Ok(socket)
}

/// A socket for IPv6 and IPv4, on a port that others of this user may have, too: of this
/// process, that is.
fn listen(port: u16, buffer_bytes: usize) -> io::Result<UdpSocket> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let both = socket(AddressFamily::Inet6, SockType::Datagram, flags, None);
    let (fd, everywhere) = match both {
        Ok(fd) => {
            setsockopt(&fd, sockopt::Ipv6V6Only, &false)?;
            (fd, SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))
        }
        // A kernel without IPv6.
        Err(Errno::EAFNOSUPPORT) => {
            let fd = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
            (fd, SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))
        }
        Err(errno) => return Err(errno.into()),
    };
    setsockopt(&fd, sockopt::ReusePort, &true)?;
    setsockopt(&fd, sockopt::RcvBuf, &buffer_bytes)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(everywhere))?;
    Ok(UdpSocket::from(fd))
}

/// How many datagrams the kernel dropped because the socket was full.
pub(super) fn dropped(socket: &UdpSocket) -> u32 {
    let mut numbers = [0u32; MEMINFO_NUMBERS];
    let mut size = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the buffer is as long as said.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &mut size,
        )
    };
    if result == 0 {
        numbers[MEMINFO_DROPS]
    } else {
        0
    }
}

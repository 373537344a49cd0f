//! UDP sockets that datagrams come in on.

use std::{
    ffi::OsString,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, UdpSocket},
    os::fd::{AsRawFd, OwnedFd},
};

use nix::{
    errno::Errno,
    libc,
    sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
    },
};

use super::Place;

/// A few intervals' worth of reports.
const BUFFER_BYTES: usize = 256 * 1024;
const BUFFER_OF_ONE_BYTES: usize = 8 * 1024;

/// What the kernel says of a socket's memory (`SK_MEMINFO_*`), the last what it dropped.
const MEMINFO_NUMBERS: usize = 9;
const MEMINFO_DROPS: usize = 8;

/// For whoever sends there.
pub(super) fn open(place: &Place) -> io::Result<UdpSocket> {
    let socket = listen(place, BUFFER_BYTES)?;
    if let Place::Group { own, group, .. } = place {
        socket.join_multicast_v4(group.ip(), own)?;
    }
    Ok(socket)
}

/// For one sender alone.
pub(super) fn open_connected(place: &Place, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = listen(place, BUFFER_OF_ONE_BYTES)?;
    socket.connect(to)?;
    Ok(socket)
}

/// To speak with, from where those who listen expect it: to one host, or to a group on this
/// link. It is connected, so nothing comes in on it that is for whoever listens there.
pub fn speak(device: &str, from: SocketAddrV4, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = bound(of(AddressFamily::Inet)?, Some(device), from.into())?;
    socket.set_multicast_ttl_v4(1)?;
    socket.set_multicast_loop_v4(false)?;
    socket.connect(to)?;
    Ok(socket)
}

/// A socket on a port that others of this user may have, too: of this process, that is.
fn listen(place: &Place, buffer_bytes: usize) -> io::Result<UdpSocket> {
    let (fd, address) = match place {
        Place::Everywhere { port } | Place::Device { port, .. } => unbound(*port)?,
        Place::Group { group, .. } => (of(AddressFamily::Inet)?, SocketAddr::V4(*group)),
    };
    let device = match place {
        Place::Everywhere { .. } => None,
        Place::Device { name, .. } | Place::Group { name, .. } => Some(name.as_str()),
    };
    setsockopt(&fd, sockopt::RcvBuf, &buffer_bytes)?;
    bound(fd, device, address)
}

fn bound(fd: OwnedFd, device: Option<&str>, to: SocketAddr) -> io::Result<UdpSocket> {
    if let Some(device) = device {
        setsockopt(&fd, sockopt::BindToDevice, &OsString::from(device))?;
    }
    setsockopt(&fd, sockopt::ReusePort, &true)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(to))?;
    Ok(UdpSocket::from(fd))
}

/// One for IPv6 and IPv4, and what it is to be bound to.
fn unbound(port: u16) -> io::Result<(OwnedFd, SocketAddr)> {
    match of(AddressFamily::Inet6) {
        Ok(fd) => {
            setsockopt(&fd, sockopt::Ipv6V6Only, &false)?;
            Ok((fd, SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))))
        }
        // A kernel without IPv6.
        Err(Errno::EAFNOSUPPORT) => {
            let fd = of(AddressFamily::Inet)?;
            Ok((fd, SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))))
        }
        Err(errno) => Err(errno.into()),
    }
}

fn of(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(family, SockType::Datagram, flags, None)
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

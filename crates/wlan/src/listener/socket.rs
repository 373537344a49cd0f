//! UDP sockets that receive datagrams.

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

/// Room for a few intervals' reports.
const BUFFER_BYTES: usize = 256 * 1024;
const BUFFER_OF_ONE_BYTES: usize = 8 * 1024;

/// Values of a socket's memory report (`SK_MEMINFO_*`); the last is the number of drops.
const MEMINFO_NUMBERS: usize = 9;
const MEMINFO_DROPS: usize = 8;

/// A socket for any sender.
pub(super) fn open(place: &Place) -> io::Result<UdpSocket> {
    let socket = listen(place, BUFFER_BYTES)?;
    if let Place::Group { own, group, .. } = place {
        socket.join_multicast_v4(group.ip(), own)?;
    }
    Ok(socket)
}

/// A socket for one sender only.
pub(super) fn open_connected(place: &Place, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = listen(place, BUFFER_OF_ONE_BYTES)?;
    socket.connect(to)?;
    Ok(socket)
}

/// A socket for sending, from the port that receivers expect: to one host, or to a group on
/// this link. It is connected, so datagrams for a listener on that port do not arrive on it.
pub fn speak(device: &str, from: SocketAddrV4, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = bound(of(AddressFamily::Inet)?, Some(device), from.into())?;
    socket.set_multicast_ttl_v4(1)?;
    socket.set_multicast_loop_v4(false)?;
    socket.connect(to)?;
    Ok(socket)
}

/// A socket on a port that other sockets of this user may share; those are of this process.
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

/// A socket for IPv6 and IPv4, and the address to bind it to.
fn unbound(port: u16) -> io::Result<(OwnedFd, SocketAddr)> {
    match of(AddressFamily::Inet6) {
        Ok(fd) => {
            setsockopt(&fd, sockopt::Ipv6V6Only, &false)?;
            Ok((fd, SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))))
        }
        // For a kernel without IPv6.
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
    // SAFETY: the buffer has the given length.
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

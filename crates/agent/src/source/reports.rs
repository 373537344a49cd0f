//! Clients' reports over UDP.
//!
//! Nobody is woken by what comes: the socket is looked at a few times in each interval, and
//! so many datagrams are read then, and no more. So a flood costs a bounded share of a
//! processor, and the rest of it ends in the kernel when the socket is full. Who has
//! reported before has a socket of its own, connected to where it is: what strangers send
//! does not fill it.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    os::fd::AsRawFd,
};

use nix::{
    errno::Errno,
    sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
    },
};

use super::{Source, SourceError};
use crate::{
    radio::{REPORT_BYTES, Report, Sample},
    sealed::{BODY_MAX_BYTES, Counters, DATAGRAM_MAX_BYTES, Key, Purpose, Receiver},
};

/// Datagrams that are read at a time: of all strangers, and of one that is known.
const OF_STRANGERS: usize = 512;
const OF_ONE: usize = 8;
/// Clients that have a socket of their own; more share that of the strangers.
const OWN_MAX: usize = 256;
/// A socket that nothing came on for so long is closed.
const SILENT_NS: u64 = 60_000_000_000;
/// A few intervals' worth of reports.
const BUFFER_BYTES: usize = 256 * 1024;
const BUFFER_OF_ONE_BYTES: usize = 8 * 1024;

/// Reports that come in on a port.
pub struct Reports {
    port: u16,
    receiver: Receiver,
    strangers: UdpSocket,
    /// Those of clients that are known, and when each was heard.
    own: BTreeMap<SocketAddr, (UdpSocket, u64)>,
    /// Reports that named others than their sender.
    not_its_own: u64,
}

impl Reports {
    /// Listen on all addresses of this network namespace.
    pub fn listen(port: u16, key: Key, interval_ns: u64) -> Result<Self, SourceError> {
        let strangers =
            open(port, BUFFER_BYTES).map_err(|source| SourceError::Socket { port, source })?;
        Ok(Self {
            port,
            receiver: Receiver::new(key, Purpose::RADIO, REPORT_BYTES, interval_ns),
            strangers,
            own: BTreeMap::new(),
            not_its_own: 0,
        })
    }

    /// How many datagrams came to which end, and how many were sealed by one and about
    /// another.
    pub fn counters(&self) -> (&Counters, u64) {
        (self.receiver.counters(), self.not_its_own)
    }

    fn hear(&mut self, now_ns: u64, from: SocketAddr, datagram: &[u8]) -> Option<Sample> {
        let mut body = [0; BODY_MAX_BYTES];
        let opened = self
            .receiver
            .open(now_ns, from.ip(), datagram, &mut body)
            .ok()?;
        let report = Report::from_bytes(opened.body);
        let report = report.filter(|report| {
            report.sender() == Some(opened.sender) && names(report, from.ip().to_canonical())
        });
        if report.is_none() {
            self.not_its_own += 1;
        }
        report.map(|report| report.sample())
    }

    /// Give a client that is known its socket; without, it is heard among the strangers.
    fn settle(&mut self, now_ns: u64, from: SocketAddr) {
        if let Some((_, heard_ns)) = self.own.get_mut(&from) {
            *heard_ns = now_ns;
        } else if self.own.len() < OWN_MAX
            && let Ok(socket) = open_connected(self.port, from)
        {
            self.own.insert(from, (socket, now_ns));
        }
    }
}

/// A client has the address that it sends from.
fn names(report: &Report, from: IpAddr) -> bool {
    match from {
        IpAddr::V4(v4) => report.v4 == Some(v4),
        // From one that is only its link's, any other may be named.
        IpAddr::V6(v6) => report.v6 == Some(v6) || v6.is_unicast_link_local(),
    }
}

impl Source for Reports {
    /// So that a report counts soon, and a socket does not overflow.
    fn period_ns(&self, interval_ns: u64) -> u64 {
        interval_ns / 4
    }

    fn poll(&mut self, now_ns: u64, samples: &mut Vec<Sample>) -> Result<(), SourceError> {
        let mut datagram = [0; DATAGRAM_MAX_BYTES + 1];
        let mut own = std::mem::take(&mut self.own);
        for (from, (socket, heard_ns)) in &mut own {
            for _ in 0..OF_ONE {
                // What ends it, such as a client that is gone, ends it for this time.
                let Ok((length, sender)) = socket.recv_from(&mut datagram) else {
                    break;
                };
                // Between opening and connecting, it was everybody's.
                if let Some(sample) = self.hear(now_ns, sender, &datagram[..length]) {
                    samples.push(sample);
                    if sender == *from {
                        *heard_ns = now_ns;
                    }
                }
            }
        }
        own.retain(|_, (_, heard_ns)| now_ns.saturating_sub(*heard_ns) < SILENT_NS);
        self.own = own;
        for _ in 0..OF_STRANGERS {
            let (length, from) = match self.strangers.recv_from(&mut datagram) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => continue,
            };
            if let Some(sample) = self.hear(now_ns, from, &datagram[..length]) {
                samples.push(sample);
                self.settle(now_ns, from);
            }
        }
        Ok(())
    }
}

/// A socket for IPv6 and IPv4, on a port that others of this user may have, too: of this
/// process, that is.
fn open(port: u16, buffer_bytes: usize) -> io::Result<UdpSocket> {
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

fn open_connected(port: u16, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(port, BUFFER_OF_ONE_BYTES)?;
    socket.connect(to)?;
    Ok(socket)
}

#[cfg(test)]
mod tests;

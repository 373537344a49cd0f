//! Datagrams of a group's members, and of strangers.
//!
//! No datagram wakes the process. It reads the sockets a few times in each interval, and at
//! most a fixed number of datagrams each time. So a flood costs a bounded share of a processor,
//! whatever its rate and the interval, and the kernel drops the rest when the socket is full. A
//! member that was heard before has a socket of its own, connected to its address, which
//! strangers' datagrams do not fill.

mod filter;
mod socket;

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
};

pub use socket::speak;

use crate::{Bucket, Rate, sealed::DATAGRAM_MAX_BYTES};

/// Datagrams read at a time from a member's own socket. A member sends about one in an
/// interval.
const OF_ONE: usize = 2;
/// Members with a socket of their own; further members share the strangers' socket.
const OWN_MAX: usize = 256;
/// A member's socket is closed after this time without a datagram.
const SILENT_NS: u64 = 60_000_000_000;

/// Where datagrams are received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On all addresses of this network namespace.
    Everywhere {
        /// The UDP port.
        port: u16,
    },
    /// On all addresses, through one device only.
    Device {
        /// The device's name.
        name: String,
        /// The UDP port.
        port: u16,
    },
    /// For a multicast group, through the device with this address. Members send from the
    /// group's port.
    Group {
        /// The device's name.
        name: String,
        /// The group's address.
        own: Ipv4Addr,
        /// The UDP port.
        group: SocketAddrV4,
    },
}

/// The sockets of a place, and the members heard there.
pub struct Listener {
    place: Place,
    strangers: UdpSocket,
    /// Limits reading from it.
    rate: Rate,
    budget: Bucket,
    /// Own sockets of known members, and when each member was heard.
    own: BTreeMap<SocketAddr, (UdpSocket, u64)>,
    /// Datagrams dropped by sockets that are closed.
    dropped: u64,
    /// Datagrams read from members' own sockets of a group. The strangers' socket refused as
    /// many, which the kernel also counts as dropped.
    refused: u64,
}

impl Listener {
    /// `strangers`: how many datagrams are read from senders not heard before.
    pub fn open(place: Place, strangers: Rate) -> io::Result<Self> {
        let socket = socket::open(&place)?;
        let mut listener = Self {
            place,
            strangers: socket,
            rate: strangers,
            budget: Bucket::default(),
            own: BTreeMap::new(),
            dropped: 0,
            refused: 0,
        };
        listener.tell_apart()?;
        Ok(listener)
    }

    /// Passes received datagrams to `hear`, with their source. `hear` returns whether a member
    /// sent it.
    pub fn poll(&mut self, now_ns: u64, mut hear: impl FnMut(SocketAddr, &[u8]) -> bool) {
        self.hear_the_known(now_ns, &mut hear);
        self.hear_strangers(now_ns, &mut hear);
    }

    /// Datagrams that the kernel dropped because sockets were full.
    pub fn dropped(&self) -> u64 {
        let sockets = self.own.values().map(|(socket, _)| socket);
        let sockets = sockets.chain([&self.strangers]);
        let dropped = sockets.map(|socket| u64::from(socket::dropped(socket)));
        (self.dropped + dropped.sum::<u64>()).saturating_sub(self.refused)
    }

    fn hear_the_known(&mut self, now_ns: u64, hear: &mut impl FnMut(SocketAddr, &[u8]) -> bool) {
        let mut datagram = [0; DATAGRAM_MAX_BYTES + 1];
        let before = self.own.len();
        let is_group = matches!(self.place, Place::Group { .. });
        let (dropped, refused) = (&mut self.dropped, &mut self.refused);
        self.own.retain(|from, (socket, heard_ns)| {
            for _ in 0..OF_ONE {
                // An error, such as of a member that is gone, ends reading for this time.
                let Ok((length, sender)) = socket.recv_from(&mut datagram) else {
                    break;
                };
                *refused += u64::from(is_group);
                // Between opening and connecting, the socket received from any sender.
                if hear(sender, &datagram[..length]) && sender == *from {
                    *heard_ns = now_ns;
                }
            }
            let stays = now_ns.saturating_sub(*heard_ns) < SILENT_NS;
            if !stays {
                let lost = u64::from(socket::dropped(socket));
                *dropped += lost;
                *refused += if is_group { lost } else { 0 };
            }
            stays
        });
        if self.own.len() != before {
            let _ = self.tell_apart();
        }
    }

    fn hear_strangers(&mut self, now_ns: u64, hear: &mut impl FnMut(SocketAddr, &[u8]) -> bool) {
        let mut datagram = [0; DATAGRAM_MAX_BYTES + 1];
        while self.budget.take(&self.rate, now_ns) {
            let (length, from) = match self.strangers.recv_from(&mut datagram) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => continue,
            };
            if hear(from, &datagram[..length]) {
                self.settle(now_ns, from);
            }
        }
    }

    /// Gives a known member its own socket. Without one, it is heard through the strangers'
    /// socket.
    fn settle(&mut self, now_ns: u64, from: SocketAddr) {
        if let Some((_, heard_ns)) = self.own.get_mut(&from) {
            *heard_ns = now_ns;
        } else if self.own.len() < OWN_MAX
            && let Ok(socket) = socket::open_connected(&self.place, from)
        {
            self.own.insert(from, (socket, now_ns));
            if self.tell_apart().is_err() {
                self.own.remove(&from);
            }
        }
    }

    /// A datagram to a group arrives on every socket that it fits. So the strangers' socket
    /// refuses senders that have their own.
    fn tell_apart(&mut self) -> io::Result<()> {
        let Place::Group { group, .. } = &self.place else {
            return Ok(());
        };
        let known = self.own.keys().filter_map(|from| match from {
            SocketAddr::V4(from) => Some(*from.ip()),
            SocketAddr::V6(_) => None,
        });
        filter::attach(&self.strangers, group.port(), known)
    }

    #[cfg(test)]
    pub(crate) fn own_count(&self) -> usize {
        self.own.len()
    }
}

#[cfg(test)]
mod tests;

//! Datagrams that members of a group send, and anybody else.
//!
//! Nobody is woken by what comes: the sockets are looked at a few times in each interval, and
//! so many datagrams are read then, and no more. So a flood costs a bounded share of a
//! processor, however fast it comes and whatever the interval, and the rest of it ends in the
//! kernel when the socket is full. Who was heard before has a socket of its own, connected to
//! where it is: what strangers send does not fill it.

mod filter;
mod socket;

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
};

pub use socket::speak;

use crate::{
    rate::{Bucket, Rate},
    sealed::DATAGRAM_MAX_BYTES,
};

/// Those of one that is known, at a time. It sends about one in an interval.
const OF_ONE: usize = 2;
/// So many have a socket of their own; more share that of the strangers.
const OWN_MAX: usize = 256;
/// A socket that nothing came on for so long is closed.
const SILENT_NS: u64 = 60_000_000_000;

/// Where datagrams come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On all addresses of this network namespace.
    Everywhere {
        /// Of UDP.
        port: u16,
    },
    /// On all addresses, by one device alone.
    Device {
        /// The device's.
        name: String,
        /// Of UDP.
        port: u16,
    },
    /// To a multicast group, by the device that has this address. Whoever belongs to it sends
    /// from the group's port.
    Group {
        /// The device's.
        name: String,
        /// Its address.
        own: Ipv4Addr,
        /// Of UDP.
        group: SocketAddrV4,
    },
}

/// The sockets of a place, and who has been heard there.
pub struct Listener {
    place: Place,
    strangers: UdpSocket,
    /// Of reading from it.
    rate: Rate,
    budget: Bucket,
    /// Those of members that are known, and when each was heard.
    own: BTreeMap<SocketAddr, (UdpSocket, u64)>,
    /// By sockets that are closed.
    dropped: u64,
    /// Read from own sockets of a group: so many the strangers' was offered and refused, which
    /// the kernel counts as dropped, too.
    refused: u64,
}

impl Listener {
    /// `strangers`: how many datagrams are read of those who were not heard before.
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

    /// Hand what has come to `hear`, with where it is from. It says whether a member has sent
    /// it.
    pub fn poll(&mut self, now_ns: u64, mut hear: impl FnMut(SocketAddr, &[u8]) -> bool) {
        self.hear_the_known(now_ns, &mut hear);
        self.hear_strangers(now_ns, &mut hear);
    }

    /// What the kernel dropped because sockets were full.
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
                // What ends it, such as a member that is gone, ends it for this time.
                let Ok((length, sender)) = socket.recv_from(&mut datagram) else {
                    break;
                };
                *refused += u64::from(is_group);
                // Between opening and connecting, it was everybody's.
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

    /// Give a member that is known its socket; without, it is heard among the strangers.
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

    /// What is sent to a group comes on every socket that it fits. So that of the strangers is
    /// to refuse what has another.
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

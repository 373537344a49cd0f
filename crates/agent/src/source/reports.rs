//! Clients' reports over UDP.
//!
//! Nobody is woken by what comes: the sockets are looked at a few times in each interval, and
//! so many datagrams are read then, and no more. So a flood costs a bounded share of a
//! processor, however fast it comes and whatever the interval, and the rest of it ends in the
//! kernel when the socket is full. Who has reported before has a socket of its own, connected
//! to where it is: what strangers send does not fill it.

mod socket;

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
};

use takt_kernel::Datagrams;

use super::{Source, SourceError};
use crate::{
    radio::{REPORT_BYTES, Report, Sample},
    rate::{Bucket, Rate},
    sealed::{BODY_MAX_BYTES, DATAGRAM_MAX_BYTES, Key, Purpose, Receiver},
};

/// Datagrams of strangers that are read: at a time, and in a second, which is enough for all
/// that a link has places for to come at once, and a hundredth of a processor.
const OF_STRANGERS: u64 = 512;
const STRANGERS: Rate = Rate::per_second(4_000, OF_STRANGERS);
/// Those of one that is known, at a time. It sends one in an interval.
const OF_ONE: usize = 2;
/// Clients that have a socket of their own; more share that of the strangers.
const OWN_MAX: usize = 256;
/// A socket that nothing came on for so long is closed.
const SILENT_NS: u64 = 60_000_000_000;

/// Reports that come in on a port.
pub struct Reports {
    port: u16,
    receiver: Receiver,
    strangers: UdpSocket,
    /// Of reading from it.
    budget: Bucket,
    /// Those of clients that are known, and when each was heard.
    own: BTreeMap<SocketAddr, (UdpSocket, u64)>,
    /// Reports that named others than their sender.
    not_its_own: u64,
    /// By sockets that are closed.
    dropped: u64,
}

impl Reports {
    /// Listen on all addresses of this network namespace.
    pub fn listen(port: u16, key: Key, interval_ns: u64) -> Result<Self, SourceError> {
        let strangers =
            socket::open(port).map_err(|source| SourceError::Socket { port, source })?;
        Ok(Self {
            port,
            receiver: Receiver::new(key, Purpose::RADIO, REPORT_BYTES, interval_ns),
            strangers,
            budget: Bucket::default(),
            own: BTreeMap::new(),
            not_its_own: 0,
            dropped: 0,
        })
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

    fn hear_the_known(&mut self, now_ns: u64, samples: &mut Vec<Sample>) {
        let mut datagram = [0; DATAGRAM_MAX_BYTES + 1];
        let mut own = std::mem::take(&mut self.own);
        own.retain(|from, (socket, heard_ns)| {
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
            let stays = now_ns.saturating_sub(*heard_ns) < SILENT_NS;
            if !stays {
                self.dropped += u64::from(socket::dropped(socket));
            }
            stays
        });
        self.own = own;
    }

    fn hear_strangers(&mut self, now_ns: u64, samples: &mut Vec<Sample>) {
        let mut datagram = [0; DATAGRAM_MAX_BYTES + 1];
        for _ in 0..OF_STRANGERS {
            if !self.budget.take(&STRANGERS, now_ns) {
                break;
            }
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
    }

    /// Give a client that is known its socket; without, it is heard among the strangers.
    fn settle(&mut self, now_ns: u64, from: SocketAddr) {
        if let Some((_, heard_ns)) = self.own.get_mut(&from) {
            *heard_ns = now_ns;
        } else if self.own.len() < OWN_MAX
            && let Ok(socket) = socket::open_connected(self.port, from)
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
        self.hear_the_known(now_ns, samples);
        self.hear_strangers(now_ns, samples);
        Ok(())
    }

    fn datagrams(&self) -> Option<Datagrams> {
        let counters = self.receiver.counters();
        let own = self.own.values().map(|(socket, _)| socket);
        let sockets = own.chain([&self.strangers]);
        let dropped: u64 = sockets
            .map(|socket| u64::from(socket::dropped(socket)))
            .sum();
        Some(Datagrams {
            read: counters.read(),
            heard: counters.taken - self.not_its_own,
            malformed: counters.malformed,
            forged: counters.forged,
            replayed: counters.replayed + counters.old_epoch,
            unknown: counters.flood + counters.full,
            too_often: counters.too_fast,
            not_its_own: self.not_its_own,
            dropped: self.dropped + dropped,
        })
    }
}

#[cfg(test)]
mod tests;

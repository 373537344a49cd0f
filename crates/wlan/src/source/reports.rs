//! Clients' reports over UDP.

use std::net::{IpAddr, SocketAddr};

use takt_host::Datagrams;

use super::{Source, SourceError};
use crate::{
    Rate,
    listener::{Listener, Place},
    radio::{REPORT_BYTES, Report, Sample},
    sealed::{BODY_MAX_BYTES, Key, Purpose, Receiver},
};

/// Datagrams of unknown senders per second: enough for a full table of stations at once, and a
/// hundredth of a processor.
const STRANGERS: Rate = Rate::per_second(4_000, 512);

/// Reports received on a port.
pub struct Reports {
    listener: Listener,
    clients: Clients,
}

struct Clients {
    receiver: Receiver,
    /// Reports about other hosts than their sender.
    not_its_own: u64,
}

impl Reports {
    /// Listens on all addresses of this network namespace.
    pub fn listen(port: u16, key: Key, interval_ns: u64) -> Result<Self, SourceError> {
        let listener = Listener::open(Place::Everywhere { port }, STRANGERS)
            .map_err(|source| SourceError::Socket { port, source })?;
        let rate = Rate::once_per(interval_ns);
        let bodies = REPORT_BYTES..=REPORT_BYTES;
        Ok(Self {
            listener,
            clients: Clients {
                receiver: Receiver::new(key, Purpose::RADIO, bodies, rate),
                not_its_own: 0,
            },
        })
    }
}

impl Clients {
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
}

/// A client reports for the address from which it sends.
fn names(report: &Report, from: IpAddr) -> bool {
    match from {
        IpAddr::V4(v4) => report.v4 == Some(v4),
        // From a link-local address, a client may name any address.
        IpAddr::V6(v6) => report.v6 == Some(v6) || v6.is_unicast_link_local(),
    }
}

impl Source for Reports {
    /// Often enough that a report counts soon and a socket does not overflow.
    fn period_ns(&self, interval_ns: u64) -> u64 {
        interval_ns / 4
    }

    fn poll(&mut self, now_ns: u64, samples: &mut Vec<Sample>) -> Result<(), SourceError> {
        self.listener.poll(now_ns, |from, datagram| {
            let sample = self.clients.hear(now_ns, from, datagram);
            samples.extend(sample);
            sample.is_some()
        });
        Ok(())
    }

    fn datagrams(&self) -> Option<Datagrams> {
        let counters = self.clients.receiver.counters();
        Some(counters.told(self.clients.not_its_own, self.listener.dropped()))
    }
}

#[cfg(test)]
mod tests;

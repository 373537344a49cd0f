//! The connection to the other hosts: this host's identity, and its sockets.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

use nix::net::if_::if_nametoindex;
use takt_host::present_name;
use takt_policy::{CROWD_PORT, Crowd, CrowdRole};
use takt_wlan::{
    Rate,
    crowd::Own,
    listener::{Listener, Place, speak},
    read_key,
};

use crate::own;

/// In the scope for a site's own use (RFC 2365), and never routed: the datagrams' TTL is one
/// hop.
const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 255, 76, 42), CROWD_PORT);
/// The limit of strangers' datagrams that are looked at: a burst as large as the largest group,
/// and per second as many as take a quarter of a hundredth of a processor.
const STRANGERS: Rate = Rate::per_second(1_000, 256);

/// Valid as long as its device does not change.
pub(super) struct Line {
    at: At,
    pub listener: Listener,
    voice: UdpSocket,
    pub sent: u64,
}

/// What other hosts know a device by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At {
    index: u32,
    number: u64,
    v4: Ipv4Addr,
}

impl At {
    /// And the device's present name.
    fn for_device(device: &str) -> Result<(Self, String), String> {
        let present = present_name(device).map_err(|error| error.to_string())?;
        let found = present.and_then(|name| Some((if_nametoindex(&*name).ok()?, name)));
        let (index, name) = found.ok_or_else(|| format!("there is no device {device}"))?;
        let own = own::report_of(&name);
        let number = own.as_ref().and_then(|own| own.sender());
        let v4 = own.and_then(|own| own.v4);
        match (number, v4) {
            (Some(number), Some(v4)) => Ok((Self { index, number, v4 }, name)),
            _ => Err(format!("{device} has no IPv4 address to send from")),
        }
    }
}

impl Line {
    /// Open the sockets; return them, and this host's identity towards the others.
    pub fn open(crowd: &Crowd) -> Result<(Self, Own), String> {
        let (at, name) = At::for_device(&crowd.device)?;
        let key = read_key(&crowd.key_file).map_err(|error| error.to_string())?;
        let own = Own {
            key: key.of_group(&crowd.group),
            number: at.number,
            epoch: own::epoch()?,
            interval_ns: crowd.interval_ns,
        };
        let place = match crowd.role {
            CrowdRole::Aggregator => Place::Device {
                name: name.clone(),
                port: CROWD_PORT,
            },
            CrowdRole::Multicast | CrowdRole::Aggregated { .. } => Place::Group {
                name: name.clone(),
                own: at.v4,
                group: GROUP,
            },
        };
        let to = match crowd.role {
            CrowdRole::Aggregated { by } => by,
            CrowdRole::Multicast | CrowdRole::Aggregator => SocketAddr::V4(GROUP),
        };
        let listener = Listener::open(place, STRANGERS)
            .map_err(|error| format!("listening on {}: {error}", crowd.device))?;
        let voice = speak(&name, SocketAddrV4::new(at.v4, CROWD_PORT), to)
            .map_err(|error| format!("speaking on {} to {to}: {error}", crowd.device))?;
        let line = Self {
            at,
            listener,
            voice,
            sent: 0,
        };
        Ok((line, own))
    }

    /// Whether the device is still the one that this was opened on.
    pub fn works_on(&self, device: &str) -> bool {
        At::for_device(device).is_ok_and(|(at, _)| at == self.at)
    }

    pub fn send(&mut self, datagram: &[u8]) -> Result<(), String> {
        let sent = self.voice.send(datagram);
        sent.map_err(|error| format!("telling the others: {error}"))?;
        self.sent += 1;
        Ok(())
    }
}

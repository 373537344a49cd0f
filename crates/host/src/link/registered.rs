//! Destinations that are registered at run time, for the qdisc's lookups.

use std::{
    net::{IpAddr, SocketAddr},
    os::fd::AsFd,
};

use libbpf_rs::{MapCore, MapFlags, MapInfo};
use takt_algo::{
    from_bytes,
    sys::{
        TAKT_EVERYONE, TAKT_FAMILY_IPV4, TAKT_FAMILY_IPV6, takt_destination, takt_registration,
        takt_registry,
    },
    to_bytes,
};

use crate::{bpf::BpfError, error::Error, link::program::Program};

/// The senders that a registration is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// This user's sockets.
    User(u32),
    /// All senders, forwarded packets included.
    Everyone,
}

/// A destination and the sender of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination {
    /// Of the network namespace that they are sent in.
    pub netns_cookie: u64,
    /// Who sends them.
    pub whose: Whose,
    /// Where they go: an address and a port, whatever the protocol.
    pub to: SocketAddr,
}

/// The last change of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration {
    /// On `CLOCK_BOOTTIME`; no two changes have the same.
    pub changed_ns: u64,
    /// `false`: taken back, and kept for a while so that packets queued because of it are not
    /// overtaken.
    pub on: bool,
}

/// The maps of the loaded program.
pub struct Registrations {
    program: Program,
    id: u32,
}

impl Registrations {
    /// `None`: no link is managed, so there is nothing to write to.
    pub fn open() -> Result<Option<Self>, Error> {
        let Some(program) = Program::open()? else {
            return Ok(None);
        };
        let map = program.registrations().as_fd();
        let info = MapInfo::new(map).map_err(BpfError::of("looking at a map"))?;
        let id = info.info.id;
        Ok(Some(Self { program, id }))
    }

    /// Another program's maps have another number, and are empty.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Every destination in the map, on or off.
    pub fn all(&self) -> Vec<Destination> {
        self.program
            .registrations()
            .keys()
            .filter_map(|key| from_bytes::<takt_destination>(&key))
            .filter_map(|key| Destination::from_kernel(&key))
            .collect()
    }

    /// Register, switch off (`Some`), or forget (`None`).
    pub fn write(
        &self,
        destination: &Destination,
        registration: Option<Registration>,
    ) -> Result<(), Error> {
        let key = destination.for_kernel();
        let Some(registration) = registration else {
            return match self.program.registrations().delete(to_bytes(&key)) {
                Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                    Err(BpfError::of("forgetting a registration")(error))
                }
                _ => Ok(()),
            };
        };
        let value = takt_registration {
            changed_ns: registration.changed_ns,
            on: registration.on.into(),
            ..Default::default()
        };
        self.program
            .registrations()
            .update(to_bytes(&key), to_bytes(&value), MapFlags::ANY)
            .map_err(BpfError::of("registering a destination"))
    }

    /// Set the number of entries: before entries are added, and after they are removed.
    pub fn set_count(&self, entries: usize) -> Result<(), Error> {
        let value = takt_registry {
            entries: entries as u32,
        };
        self.program
            .registry()
            .update(&0u32.to_ne_bytes(), to_bytes(&value), MapFlags::ANY)
            .map_err(BpfError::of("counting registrations"))
    }
}

/// Whether some link of a namespace has a class for registered traffic; `None`
/// if no link of it is managed.
pub fn asked_for(netns_cookie: u64) -> Result<Option<bool>, Error> {
    let Some(program) = Program::open()? else {
        return Ok(None);
    };
    let mut asked = None;
    for index in program.links()? {
        let Some(port) = program.port(index)? else {
            continue;
        };
        let outline = port.outline();
        if outline.owner.netns_cookie == netns_cookie && !outline.gone {
            asked = Some(asked.unwrap_or(false) || outline.asks_registered);
        }
    }
    Ok(asked)
}

impl Destination {
    fn for_kernel(&self) -> takt_destination {
        let (family, octets) = match self.to.ip().to_canonical() {
            IpAddr::V4(address) => {
                let mut octets = [0; 16];
                octets[..4].copy_from_slice(&address.octets());
                (TAKT_FAMILY_IPV4, octets)
            }
            IpAddr::V6(address) => (TAKT_FAMILY_IPV6, address.octets()),
        };
        let (words, _) = octets.as_chunks::<4>();
        takt_destination {
            netns_cookie: self.netns_cookie,
            uid: match self.whose {
                Whose::User(uid) => uid,
                Whose::Everyone => TAKT_EVERYONE,
            },
            port: self.to.port(),
            family: family as u8,
            pad: 0,
            address: [0, 1, 2, 3].map(|word| u32::from_ne_bytes(words[word])),
        }
    }

    /// `None` if no takt has written it.
    fn from_kernel(key: &takt_destination) -> Option<Self> {
        let mut octets = [0; 16];
        for (to, word) in octets.chunks_mut(4).zip(key.address) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        let address = match u32::from(key.family) {
            TAKT_FAMILY_IPV4 => IpAddr::from(*octets.first_chunk::<4>()?),
            TAKT_FAMILY_IPV6 => IpAddr::from(octets),
            _ => return None,
        };
        let whose = match key.uid {
            TAKT_EVERYONE => Whose::Everyone,
            uid => Whose::User(uid),
        };
        Some(Self {
            netns_cookie: key.netns_cookie,
            whose,
            to: SocketAddr::new(address, key.port),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str, whose: Whose) -> Destination {
        Destination {
            netns_cookie: 7,
            whose,
            to: text.parse().unwrap(),
        }
    }

    #[test]
    fn a_destination_is_written_as_it_is_read() {
        for whose in [Whose::User(0), Whose::User(1000), Whose::Everyone] {
            for text in ["192.0.2.10:873", "[2001:db8::1]:1", "[::1]:65535"] {
                let destination = to(text, whose);
                let read = Destination::from_kernel(&destination.for_kernel());
                assert_eq!(read, Some(destination));
            }
        }
    }

    #[test]
    fn an_ipv4_address_within_ipv6_is_that_address() {
        let mapped = to("[::ffff:192.0.2.10]:873", Whose::Everyone).for_kernel();
        assert_eq!(mapped, to("192.0.2.10:873", Whose::Everyone).for_kernel());
    }
}

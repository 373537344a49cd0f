//! Other addresses in the place of those that were seen: by a hash with a random key that nothing
//! keeps, so that a file says which packets have the same address and not which one.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use takt_algo::sys::{TAKT_FAMILY_IPV4, TAKT_FAMILY_IPV6, takt_key};

/// Both tables have a bound.
const ADDRESSES_MAX: usize = 1 << 20;

/// The addresses so far.
pub struct Names {
    /// Keyed at random (SipHash).
    key: RandomState,
    names: HashMap<IpAddr, IpAddr>,
    taken: HashSet<IpAddr>,
}

impl Names {
    /// With a key of its own.
    pub fn new() -> Self {
        Self {
            key: RandomState::new(),
            names: HashMap::new(),
            taken: HashSet::new(),
        }
    }

    /// Whether there is no room for another address.
    pub fn is_full(&self) -> bool {
        self.names.len() >= ADDRESSES_MAX
    }

    /// Replaces both addresses of a key. `None` if there is no room.
    pub(super) fn replace(&mut self, key: &mut takt_key) -> Option<()> {
        let family = u32::from(key.family);
        for words in [&mut key.src, &mut key.dst] {
            match family {
                TAKT_FAMILY_IPV4 => {
                    let octets = words[0].to_ne_bytes();
                    if let IpAddr::V4(name) = self.name(octets.into())? {
                        words[0] = u32::from_ne_bytes(name.octets());
                    }
                }
                TAKT_FAMILY_IPV6 => {
                    let mut octets = [0; 16];
                    octets.copy_from_slice(words.map(u32::to_ne_bytes).as_flattened());
                    if let IpAddr::V6(name) = self.name(octets.into())? {
                        let octets = name.octets();
                        let (rows, _) = octets.as_chunks::<4>();
                        for (word, row) in words.iter_mut().zip(rows) {
                            *word = u32::from_ne_bytes(*row);
                        }
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Of 10.0.0.0/8 or fd00::/8; groups and the broadcast keep theirs, which name no host.
    fn name(&mut self, address: IpAddr) -> Option<IpAddr> {
        if address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST) {
            return Some(address);
        }
        if let Some(name) = self.names.get(&address) {
            return Some(*name);
        }
        if self.is_full() {
            return None;
        }
        let hash = |number: u64| self.key.hash_one((number, address));
        // No two addresses have the same name: there are far more names than addresses.
        let mut tries = 0..u64::MAX;
        let name = tries.find_map(|number| {
            let name = match address {
                IpAddr::V4(_) => {
                    IpAddr::from(Ipv4Addr::from_bits(10 << 24 | hash(number) as u32 >> 8))
                }
                IpAddr::V6(_) => {
                    let low = u128::from(hash(2 * number)) << 64 | u128::from(hash(2 * number + 1));
                    IpAddr::from(Ipv6Addr::from_bits(0xfd << 120 | low >> 8))
                }
            };
            (!self.taken.contains(&name)).then_some(name)
        })?;
        self.taken.insert(name);
        self.names.insert(address, name);
        Some(name)
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_name_and_shares_it_with_none() {
        let mut names = Names::new();
        let addresses: Vec<IpAddr> = (0..20_000u32)
            .map(|at| Ipv4Addr::from_bits(0xc000_0200 + at).into())
            .collect();
        let first: Vec<_> = addresses
            .iter()
            .map(|it| names.name(*it).unwrap())
            .collect();
        let again: Vec<_> = addresses
            .iter()
            .map(|it| names.name(*it).unwrap())
            .collect();
        assert_eq!(first, again);
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), first.len());
        let other = Names::new().name(addresses[0]).unwrap();
        // One of 2^24.
        assert_ne!(first[0], other);
        let group = "ff02::fb".parse().unwrap();
        assert_eq!(names.name(group), Some(group));
        let host = names.name("2001:db8::1".parse().unwrap()).unwrap();
        assert!(host.to_string().starts_with("fd"), "{host}");
    }
}

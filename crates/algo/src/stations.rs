//! User space's side of `algo/station.h`: the table of a link's stations. The kernel reads it
//! at any time, and several processes may write it.

use std::{
    fmt,
    marker::PhantomData,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use crate::sys::{
    self, TAKT_ADDRESS_IPV4, TAKT_SCALE_WHOLE, TAKT_STATION_FREE, TAKT_STATION_THERE,
    TAKT_STATION_WRITTEN, TAKT_STATIONS, takt_address, takt_station, takt_stations,
};

/// A receiver over the air: by MAC where the device has Ethernet headers, else by IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// Where frames have Ethernet headers.
    Mac([u8; 6]),
    /// Where frames have none.
    Ip(IpAddr),
}

/// A station that user space knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its number in the table, from 1.
    pub number: u32,
    /// The address that identifies it.
    pub address: Address,
    /// 0 to 1,000,000.
    pub weight_ppm: u32,
    /// The weight stays without a live agent.
    pub by_hand: bool,
}

/// The table is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableFull;

/// A link's table of stations, in memory of the caller.
pub struct Stations<'a> {
    table: *mut takt_stations,
    lives: PhantomData<&'a mut takt_stations>,
}

impl<'a> Stations<'a> {
    /// The table in this memory.
    pub fn new(table: &'a mut takt_stations) -> Self {
        // SAFETY: valid for 'a, and borrowed exclusively.
        unsafe { Self::at(table) }
    }

    /// # Safety
    /// Points to a table that is valid for 'a. Other processes may write it at the same time,
    /// by the rules in `algo/station.h`.
    pub unsafe fn at(table: *mut takt_stations) -> Self {
        Self {
            table,
            lives: PhantomData,
        }
    }

    /// Sets a station's weight, in parts per million. A weight that was set by hand stays
    /// unless this one is set by hand, too.
    pub fn set(
        &mut self,
        address: Address,
        weight_ppm: u32,
        by_hand: bool,
    ) -> Result<(), TableFull> {
        let weight_ppm = weight_ppm.min(TAKT_SCALE_WHOLE);
        let words = takt_address::from(address);
        let Some(entry) = self.find(words) else {
            return self.add(words, weight_ppm, by_hand);
        };
        let station = self.station(entry);
        let had_by_hand = station.by_hand.load(Ordering::Relaxed) != 0;
        if had_by_hand && !by_hand {
            return Ok(());
        }
        station.by_hand.store(by_hand.into(), Ordering::Relaxed);
        let before = station.weight_ppm.swap(weight_ppm, Ordering::Relaxed);
        if before != weight_ppm || had_by_hand != by_hand {
            self.tell(entry);
        }
        Ok(())
    }

    /// Removes the station. One that was set by hand stays unless this is by hand, too.
    pub fn forget(&mut self, address: Address, by_hand: bool) {
        let Some(entry) = self.find(address.into()) else {
            return;
        };
        let station = self.station(entry);
        if station.by_hand.load(Ordering::Relaxed) != 0 && !by_hand {
            return;
        }
        station.state.store(TAKT_STATION_FREE, Ordering::Release);
        self.generation().fetch_add(1, Ordering::Release);
        self.tell(entry);
    }

    /// An agent is alive at this moment of the monotonic clock.
    pub fn beat(&mut self, now_ns: u64) {
        // SAFETY: an aligned field of a valid table.
        let beat = unsafe { AtomicU64::from_ptr(&raw mut (*self.table).beat_ns) };
        let before_ns = beat.swap(now_ns, Ordering::Relaxed);
        if before_ns + sys::TAKT_STATION_STALE_NS < now_ns {
            // The old weights were stale: let the link read the table at once.
            self.changes().fetch_add(1, Ordering::Release);
        }
    }

    /// In table order.
    pub fn known(&self) -> Vec<Known> {
        (0..TAKT_STATIONS as usize)
            .filter_map(|entry| {
                let station = self.station(entry);
                let there = station.state.load(Ordering::Acquire) == TAKT_STATION_THERE;
                there.then(|| Known {
                    number: entry as u32 + 1,
                    address: station.address().into(),
                    weight_ppm: station.weight_ppm.load(Ordering::Relaxed),
                    by_hand: station.by_hand.load(Ordering::Relaxed) != 0,
                })
            })
            .collect()
    }

    fn add(
        &mut self,
        address: takt_address,
        weight_ppm: u32,
        by_hand: bool,
    ) -> Result<(), TableFull> {
        // Prefer the station's old entry, where its entities may still be; then entries that
        // were never used.
        let mut entries: Vec<usize> = (0..TAKT_STATIONS as usize).collect();
        entries.sort_by_key(|entry| {
            let station = self.station(*entry);
            let was_here = station.address() == address;
            (!was_here, station.incarnation.load(Ordering::Relaxed))
        });
        let entry = entries.into_iter().find(|entry| {
            let state = self.station(*entry).state;
            let (free, mine) = (TAKT_STATION_FREE, TAKT_STATION_WRITTEN);
            state
                .compare_exchange(free, mine, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        });
        let entry = entry.ok_or(TableFull)?;
        let station = self.station(entry);
        if station.address() != address {
            station.incarnation.fetch_add(1, Ordering::Relaxed);
            let words = station.words.iter().zip(address.word);
            words.for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        }
        station.weight_ppm.store(weight_ppm, Ordering::Relaxed);
        station.by_hand.store(by_hand.into(), Ordering::Relaxed);
        station.state.store(TAKT_STATION_THERE, Ordering::Release);
        self.generation().fetch_add(1, Ordering::Release);
        self.tell(entry);
        Ok(())
    }

    fn find(&self, address: takt_address) -> Option<usize> {
        (0..TAKT_STATIONS as usize).find(|entry| {
            let station = self.station(*entry);
            station.state.load(Ordering::Acquire) == TAKT_STATION_THERE
                && station.address() == address
        })
    }

    /// Makes the link read this entry.
    fn tell(&mut self, entry: usize) {
        // SAFETY: an aligned field of a valid table; entry is below 256.
        let changed = unsafe {
            let words = (&raw mut (*self.table).changed).cast::<u64>();
            AtomicU64::from_ptr(words.add(entry / 64))
        };
        changed.fetch_or(1 << (entry % 64), Ordering::Release);
        self.changes().fetch_add(1, Ordering::Release);
    }

    fn changes(&self) -> &AtomicU32 {
        // SAFETY: an aligned field of a valid table.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.table).changes) }
    }

    fn generation(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.table).generation) }
    }

    fn station(&self, entry: usize) -> Fields<'_> {
        // SAFETY: aligned fields of a valid table; entry is below 256.
        unsafe {
            let stations = (&raw mut (*self.table).at).cast::<takt_station>();
            let station = stations.add(entry);
            let words = (&raw mut (*station).address.word).cast::<u64>();
            Fields {
                words: [
                    AtomicU64::from_ptr(words),
                    AtomicU64::from_ptr(words.add(1)),
                ],
                state: AtomicU32::from_ptr(&raw mut (*station).state),
                weight_ppm: AtomicU32::from_ptr(&raw mut (*station).weight_ppm),
                by_hand: AtomicU32::from_ptr(&raw mut (*station).by_hand),
                incarnation: AtomicU32::from_ptr(&raw mut (*station).incarnation),
            }
        }
    }
}

/// An entry as user space writes it.
struct Fields<'a> {
    words: [&'a AtomicU64; 2],
    state: &'a AtomicU32,
    weight_ppm: &'a AtomicU32,
    by_hand: &'a AtomicU32,
    incarnation: &'a AtomicU32,
}

impl Fields<'_> {
    fn address(&self) -> takt_address {
        takt_address {
            word: self.words.map(|word| word.load(Ordering::Relaxed)),
        }
    }
}

impl From<Address> for takt_address {
    fn from(address: Address) -> Self {
        let word = match address {
            Address::Mac([a, b, c, d, e, f]) => {
                [u64::MAX, u64::from_be_bytes([0, 0, a, b, c, d, e, f])]
            }
            Address::Ip(IpAddr::V4(ip)) => [0, TAKT_ADDRESS_IPV4 | u64::from(ip.to_bits())],
            Address::Ip(IpAddr::V6(ip)) => {
                let bits = ip.to_bits();
                [(bits >> 64) as u64, bits as u64]
            }
        };
        takt_address { word }
    }
}

impl From<takt_address> for Address {
    fn from(address: takt_address) -> Self {
        let [high, low] = address.word;
        if high == u64::MAX {
            let [_, _, mac @ ..] = low.to_be_bytes();
            return Self::Mac(mac);
        }
        let ip = Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
        Self::Ip(IpAddr::V6(ip).to_canonical())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Mac(mac) => {
                let bytes = mac.map(|byte| format!("{byte:02x}"));
                f.write_str(&bytes.join(":"))
            }
        }
    }
}

impl Address {
    /// Whether it is a single station's address: neither zero nor a group's.
    pub fn is_of_one(&self) -> bool {
        match self {
            Self::Mac(mac) => mac[0] & 1 == 0 && *mac != [0; 6],
            Self::Ip(IpAddr::V4(ip)) => ip.octets()[0] < 224 && !ip.is_unspecified(),
            Self::Ip(IpAddr::V6(ip)) => !ip.is_multicast() && !ip.is_unspecified(),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    /// A MAC address with colons, or an IP address, of a single station.
    fn from_str(text: &str) -> Result<Self, String> {
        let ip = text.parse::<IpAddr>().map(|ip| Self::Ip(ip.to_canonical()));
        let address = ip.ok().or_else(|| read_mac(text)).ok_or_else(|| {
            format!("`{text}` is neither a MAC address, as 02:00:00:00:01:00, nor an IP address")
        })?;
        if address.is_of_one() {
            Ok(address)
        } else {
            Err(format!("{text} is not the address of one station"))
        }
    }
}

fn read_mac(text: &str) -> Option<Address> {
    let byte = |part: &str| match part.len() {
        2 => u8::from_str_radix(part, 16)
            .ok()
            .filter(|_| !part.starts_with('+')),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    bytes
        .and_then(|bytes| <[u8; 6]>::try_from(bytes).ok())
        .map(Address::Mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_as_they_are_read() {
        for text in ["02:00:00:00:01:ff", "192.0.2.7", "2001:db8::7"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(Address::from(takt_address::from(address)), address);
        }
        assert_eq!("::ffff:192.0.2.7".parse(), "192.0.2.7".parse::<Address>());
    }

    #[test]
    fn what_is_no_station_is_refused() {
        for text in [
            "",
            "wlan0",
            "02:00:00:00:01",
            "02:00:00:00:01:zz",
            "02:00:00:00:01:0",
            "02:00:00:00:01:+1",
            "ff:ff:ff:ff:ff:ff",
            "01:00:5e:00:00:01",
            "00:00:00:00:00:00",
            "255.255.255.255",
            "240.0.0.1",
            "224.0.0.1",
            "ff02::1",
            "0.0.0.0",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_full_table_says_so_and_a_place_is_given_again() {
        let mut table = crate::zeroed_box::<takt_stations>();
        let mut stations = Stations::new(&mut table);
        let mac = |n: u32| {
            let [_, _, c, d] = n.to_be_bytes();
            Address::Mac([2, 0, 0, 0, c, d])
        };
        for n in 0..TAKT_STATIONS {
            assert_eq!(stations.set(mac(n), n, false), Ok(()));
        }
        assert_eq!(stations.set(mac(999), 0, false), Err(TableFull));
        assert_eq!(stations.set(mac(7), 9, false), Ok(()));
        stations.forget(mac(7), false);
        assert_eq!(stations.known().len(), 255);
        assert_eq!(stations.set(mac(999), 5, false), Ok(()));
        let known = stations.known();
        let new = known
            .iter()
            .find(|known| known.address == mac(999))
            .unwrap();
        assert_eq!((new.number, new.weight_ppm, new.by_hand), (8, 5, false));
    }

    #[test]
    fn what_was_set_by_hand_stays() {
        let mut table = crate::zeroed_box::<takt_stations>();
        let mut stations = Stations::new(&mut table);
        let address = Address::Mac([2; 6]);
        stations.set(address, 7, true).unwrap();
        stations.set(address, 8, false).unwrap();
        stations.forget(address, false);
        assert_eq!(stations.known()[0].weight_ppm, 7);
        stations.set(address, 9, true).unwrap();
        assert_eq!(stations.known()[0].weight_ppm, 9);
        stations.forget(address, true);
        assert_eq!(stations.known(), []);
    }
}

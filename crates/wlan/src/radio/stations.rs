//! The access point's side: stations, their strengths and the resulting weights. SoCPS,
//! sections 4.2 and 4.3.
//!
//! A missing report says something about a station only if others are heard: when all fall silent
//! at once, or the source fails, the source is what is missing. Stations' strengths then stand
//! still instead of decaying, for as long as weights count without it (algo/station.h).

use std::collections::BTreeMap;

use takt_algo::{Soc, SocStats, SocTerms, sys::TAKT_STATIONS};
use thiserror::Error;

use crate::Address;

/// As many as a link's table holds.
pub const STATIONS_MAX: usize = TAKT_STATIONS as usize;

/// A station is forgotten after this time without a report: it may have stopped reporting, and
/// would be throttled for ever.
const FORGOTTEN_NS: u64 = 60_000_000_000;

/// A station's addresses and strength, in hundredths of a dB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The first identifies it.
    pub names: [Option<Address>; 3],
    /// Signal over noise.
    pub snr_centidb: i32,
}

impl Sample {
    /// A sample of a station with one address.
    pub fn new(address: Address, snr_centidb: i32) -> Self {
        Self {
            names: [Some(address), None, None],
            snr_centidb,
        }
    }

    /// All its addresses.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        self.names.into_iter().flatten()
    }
}

/// A change of a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A station with this address has this weight.
    Weigh {
        /// Each address of a station has a change of its own.
        address: Address,
        /// 0 to 1,000,000.
        weight_ppm: u32,
    },
    /// The station with this address is unknown now.
    Forget {
        /// An address that had a weight.
        address: Address,
    },
}

/// There is no room for another station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{STATIONS_MAX} stations are known, which is the maximum, until one is silent for a minute"
)]
pub struct TooMany;

struct Station {
    soc: Soc,
    heard_ns: u64,
    /// Its addresses, as long as it is known.
    names: [Option<Address>; 3],
    weight_ppm: u32,
}

/// Time without that in which the source said nothing about anyone.
#[derive(Default)]
struct SourceTime {
    /// When any station was heard last, or the source knew that there are none.
    spoke_ns: Option<u64>,
    /// Since when it stands, if it does.
    stands_since_ns: Option<u64>,
    stood_ns: u64,
}

impl SourceTime {
    fn spoke(&mut self, now_ns: u64) {
        self.spoke_ns = Some(now_ns);
        if let Some(since_ns) = self.stands_since_ns.take() {
            self.stood_ns += now_ns.saturating_sub(since_ns);
        }
    }

    fn stand(&mut self, since_ns: u64) {
        self.stands_since_ns.get_or_insert(since_ns);
    }

    fn at(&self, now_ns: u64) -> u64 {
        let now_ns = self.stands_since_ns.unwrap_or(now_ns);
        now_ns.saturating_sub(self.stood_ns)
    }
}

/// All stations of an access point.
pub struct Stations {
    terms: SocTerms,
    stats: SocStats,
    time: SourceTime,
    /// By their first address.
    known: BTreeMap<Address, Station>,
    /// The stations of the other addresses.
    owners: BTreeMap<Address, Address>,
}

impl Stations {
    /// No stations are known.
    pub fn new(terms: SocTerms) -> Self {
        Self {
            terms,
            stats: SocStats::default(),
            time: SourceTime::default(),
            known: BTreeMap::new(),
            owners: BTreeMap::new(),
        }
    }

    /// How many reports were heard and missed.
    pub fn stats(&self) -> &SocStats {
        &self.stats
    }

    /// Whether a known station has this address.
    pub fn knows(&self, address: &Address) -> bool {
        self.known.contains_key(address) || self.owners.contains_key(address)
    }

    /// Every address and its weight.
    pub fn weights(&self) -> impl Iterator<Item = (Address, u32)> {
        self.known.values().flat_map(|station| {
            let names = station.names.into_iter().flatten();
            names.map(|address| (address, station.weight_ppm))
        })
    }

    /// Records a sample of a station.
    ///
    /// An address belongs to the first station that has it, until that station is forgotten or
    /// has it no more. So no station takes away another's address, and an address that moves is
    /// free after a minute.
    pub fn hear(
        &mut self,
        now_ns: u64,
        sample: &Sample,
        actions: &mut Vec<Action>,
    ) -> Result<(), TooMany> {
        let Some(first) = sample.names[..].iter().flatten().next().copied() else {
            return Ok(());
        };
        if self.owners.contains_key(&first) {
            return Ok(());
        }
        if !self.known.contains_key(&first) && self.known.len() >= STATIONS_MAX {
            return Err(TooMany);
        }
        let names = sample.names.map(|name| {
            name.filter(|name| {
                *name == first
                    || !self.known.contains_key(name)
                        && self.owners.get(name).is_none_or(|owner| *owner == first)
            })
        });
        self.time.spoke(now_ns);
        let station = self.known.entry(first).or_insert(Station {
            soc: Soc::default(),
            heard_ns: 0,
            names: [None; 3],
            weight_ppm: 0,
        });
        station.heard_ns = now_ns;
        let source_ns = self.time.at(now_ns);
        station
            .soc
            .report(&mut self.stats, &self.terms, sample.snr_centidb, source_ns);
        let weight_ppm = self.terms.weight_ppm(station.soc.centidb());
        let before = std::mem::replace(&mut station.names, names);
        let is_new = weight_ppm != std::mem::replace(&mut station.weight_ppm, weight_ppm);
        for gone in before
            .iter()
            .flatten()
            .filter(|name| !names.contains(&Some(**name)))
        {
            self.owners.remove(gone);
            actions.push(Action::Forget { address: *gone });
        }
        for address in names.into_iter().flatten() {
            let is_added = !before.contains(&Some(address));
            if is_added && address != first {
                self.owners.insert(address, first);
            }
            if is_added || is_new {
                actions.push(Action::Weigh {
                    address,
                    weight_ppm,
                });
            }
        }
        Ok(())
    }

    /// The source works, and knows that there are no stations now.
    pub fn none_is_there(&mut self, now_ns: u64) {
        self.time.spoke(now_ns);
    }

    /// When the source said anything last; `None`: it has not yet.
    pub fn spoke_ns(&self) -> Option<u64> {
        self.time.spoke_ns
    }

    /// Accounts for the time that has passed; with `source_failed` the source cannot be
    /// heard. To be called at least every interval.
    pub fn tick(&mut self, now_ns: u64, source_failed: bool, actions: &mut Vec<Action>) {
        // Silence is an interval without a report.
        let silent_ns = self.time.spoke_ns.map(|ns| ns + self.terms.interval_ns());
        // One station alone that is silent may as well have left.
        let all_silent = self.known.len() > 1 && silent_ns.is_some_and(|ns| ns < now_ns);
        if source_failed || all_silent {
            let since_ns = silent_ns.map_or(now_ns, |silent_ns| silent_ns.min(now_ns));
            self.time.stand(since_ns);
        }
        let source_ns = self.time.at(now_ns);
        let Self {
            terms,
            stats,
            time: _,
            known,
            owners,
        } = self;
        known.retain(|_, station| {
            let silent_ns = now_ns.saturating_sub(station.heard_ns);
            let names = station.names.into_iter().flatten();
            if silent_ns >= FORGOTTEN_NS {
                for address in names {
                    owners.remove(&address);
                    actions.push(Action::Forget { address });
                }
                return false;
            }
            station.soc.tick(stats, terms, source_ns);
            let weight_ppm = terms.weight_ppm(station.soc.centidb());
            if weight_ppm != station.weight_ppm {
                station.weight_ppm = weight_ppm;
                actions.extend(names.map(|address| Action::Weigh {
                    address,
                    weight_ppm,
                }));
            }
            true
        });
    }
}

#[cfg(test)]
mod tests;

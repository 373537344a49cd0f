//! The stations of a link in force: the receivers over the air, and their weights.
//!
//! The table lies in the link's own memory and is read by the kernel in place (algo/station.h),
//! so setting a weight is no system call. It stays when policies are replaced, and goes with
//! the link.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use takt_algo::sys::{
    TAKT_FLOW_FIRST, TAKT_SCALE_WHOLE, TAKT_STATIONS, TAKT_STATIONS_IP, TAKT_STATIONS_MAC,
    TAKT_STATIONS_NONE, takt_entity, takt_flow, takt_station,
};

pub use takt_algo::Address;

use crate::{
    error::Error,
    link::{
        LinkError,
        counted::Counted,
        memory::PortMemory,
        named::{self, Found},
        status::Counters,
    },
    os::{capability, clock::monotonic_ns, netlink::Device},
};

/// The table of stations of a link in force.
pub struct Stations {
    port: Arc<PortMemory>,
    device: String,
    known_by: u32,
}

/// A station at present.
#[derive(Debug, Clone, Serialize)]
pub struct Station {
    /// A MAC or an IP address, by which its link knows stations.
    #[serde(serialize_with = "shown")]
    pub address: Address,
    /// Whether a weight was set; a station without one counts as 1.
    pub known: bool,
    /// Its weight was set by hand, and stays until it is released.
    pub by_hand: bool,
    /// The weight that was set last, 0 to 1,000,000.
    pub weight_ppm: u32,
    /// The weight in force: `weight_ppm`, or 1 if no process refreshes the weights.
    pub applied_ppm: u32,
    /// Its packets wait for a weight above 0.
    pub held: bool,
    /// Of all classes together.
    pub queued_packets: u32,
    /// Their bytes on the wire.
    pub queued_bytes: u64,
    /// Of all classes together, since it became known; of an unknown station, since it was last
    /// idle.
    #[serde(flatten)]
    pub counters: Counters,
}

impl Stations {
    /// The stations of a device with takt's qdisc in this network namespace.
    ///
    /// # Errors
    /// The device is missing, takt's qdisc is not on it, or its link has no stations.
    pub fn open(device: &str) -> Result<Self, Error> {
        capability::require()?;
        let none = |problem| LinkError::NoStations {
            device: device.to_owned(),
            problem,
        };
        let port = match named::find(device)? {
            Found::Link(port) => port,
            Found::NoDevice => return Err(none("there is no such device").into()),
            Found::NoLink => {
                return Err(
                    none("takt does not pace it; apply a policy with this link first").into(),
                );
            }
        };
        let known_by = port.outline().stations;
        if known_by == TAKT_STATIONS_NONE {
            return Err(none("its link tells no stations apart; add [radio] to the policy").into());
        }
        Ok(Self {
            port,
            device: device.to_owned(),
            known_by,
        })
    }

    /// The name that the table was opened by.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Whether the link knows stations by MAC, not by IP.
    pub fn are_macs(&self) -> bool {
        self.known_by == TAKT_STATIONS_MAC
    }

    /// Whether the link still exists and has stations. If not, this table has no link: open it
    /// anew.
    pub fn stand(&self) -> bool {
        self.port.is_attached() && self.port.outline().stations == self.known_by
    }

    /// Set a station's weight, 0 to 1,000,000; larger values count as that. A weight that was
    /// set by hand stays.
    ///
    /// # Errors
    /// The address is of the other kind, or the table is full.
    pub fn set(&mut self, address: Address, weight_ppm: u32) -> Result<(), Error> {
        self.write(address, weight_ppm, false)
    }

    /// As [`set`](Self::set), by hand: the weight stays until it is set by hand again or
    /// released, and counts even if no process refreshes the weights.
    pub fn set_by_hand(&mut self, address: Address, weight_ppm: u32) -> Result<(), Error> {
        self.write(address, weight_ppm, true)
    }

    /// The station counts as 1 again, like an unknown one, unless its weight was set by hand.
    pub fn forget(&mut self, address: Address) {
        self.port.stations().forget(address, false);
    }

    /// As [`forget`](Self::forget), also for a weight that was set by hand.
    pub fn let_go(&mut self, address: Address) {
        self.port.stations().forget(address, true);
    }

    /// All stations that have a weight, have packets, or had some of late, by address. Reads
    /// all of the link: not for every interval.
    pub fn list(&self) -> Vec<Station> {
        list(&self.port.counted())
    }

    /// Refreshes the weights: what they come from works. Without this for 5 s every weight counts
    /// as 1 but those set by hand.
    pub fn refresh(&mut self) {
        self.refresh_ago(0);
    }

    /// As [`refresh`](Self::refresh), so long ago.
    pub fn refresh_ago(&mut self, ago_ns: u64) {
        let at_ns = monotonic_ns().saturating_sub(ago_ns);
        self.port.stations().beat(at_ns);
    }

    fn write(&mut self, address: Address, weight_ppm: u32, by_hand: bool) -> Result<(), Error> {
        let problem = match (address, self.are_macs()) {
            (Address::Ip(_), true) => Some("its stations are known by MAC address, not by IP"),
            (Address::Mac(_), false) => Some("its stations are known by IP address, not by MAC"),
            _ => None,
        };
        let device = self.device.clone();
        if let Some(problem) = problem {
            return Err(LinkError::NoStations { device, problem }.into());
        }
        let mut stations = self.port.stations();
        let set = stations.set(address, weight_ppm, by_hand);
        set.map_err(|_| LinkError::TooManyStations { device }.into())
    }
}

/// What a device's stations are known by: `TAKT_STATIONS_*`.
pub(crate) fn known_by(device: &Device) -> u32 {
    match device.hardware {
        libc::ARPHRD_ETHER => TAKT_STATIONS_MAC,
        _ => TAKT_STATIONS_IP,
    }
}

pub(crate) fn list(counted: &Counted) -> Vec<Station> {
    let table = &counted.stations;
    let mut copy = table.clone();
    let known = takt_algo::Stations::new(&mut copy).known();
    let mut stations: Vec<Station> = known
        .iter()
        .map(|known| {
            let entry = known.number as usize - 1;
            let station = &table.at[entry % TAKT_STATIONS as usize];
            Station {
                known: true,
                by_hand: known.by_hand,
                weight_ppm: known.weight_ppm,
                ..of_past(known.address, station)
            }
        })
        .collect();
    for (flow, entity) in entities(counted) {
        let address = Address::from(flow.to);
        let known = stations
            .iter()
            .position(|station| station.address == address);
        let at = known.unwrap_or_else(|| {
            stations.push(of_past(address, &takt_station::default()));
            stations.len() - 1
        });
        let station = &mut stations[at];
        station.queued_packets += entity.queue.packets;
        station.queued_bytes += entity.queue.bytes;
        station.counters.add(&Counters::from(&entity.stats));
        station.held |= entity.throttled != 0;
        if entity.scale_ppm != 0 {
            station.applied_ppm = if entity.throttled != 0 {
                0
            } else {
                entity.scale_ppm
            };
        }
    }
    stations.sort_unstable_by_key(|station| station.address);
    stations
}

/// The entities of stations.
fn entities(counted: &Counted) -> impl Iterator<Item = (&takt_flow, &takt_entity)> {
    counted
        .flows
        .iter()
        .zip(&counted.entities[TAKT_FLOW_FIRST as usize..])
        .filter(|(flow, _)| flow.identity != 0 && is_stations(flow))
}

/// Whether this entity is a station, not a flow.
pub(crate) fn is_stations(flow: &takt_flow) -> bool {
    flow.to.word != [0, 0]
}

/// A station without an entity.
fn of_past(address: Address, station: &takt_station) -> Station {
    let is_its = station.known == station.incarnation && station.known != 0;
    Station {
        address,
        known: false,
        by_hand: false,
        weight_ppm: TAKT_SCALE_WHOLE,
        applied_ppm: if is_its {
            station.applied_ppm
        } else {
            TAKT_SCALE_WHOLE
        },
        held: false,
        queued_packets: 0,
        queued_bytes: 0,
        counters: if is_its {
            Counters::from(&station.past)
        } else {
            Counters::default()
        },
    }
}

fn shown<S: Serializer>(address: &Address, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(address)
}

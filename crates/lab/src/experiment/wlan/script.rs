//! What the radio process is told, and what it says in the end. Both travel as
//! JSON.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::plan::Station;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Script {
    /// One of takt-medium's profiles.
    pub profile: String,
    pub seed: u64,
    /// At most [`STATIONS_MAX`](super::STATIONS_MAX).
    pub stations: Vec<StationScript>,
    /// Each way.
    pub wire_delay: Duration,
    /// Of what the access point sends over the wire, at random.
    #[serde(default)]
    pub wire_loss_ppm: u32,
    /// Throughput is told for every so long.
    pub interval: Duration,
    pub reports: Option<SnrReports>,
    #[serde(default)]
    pub waiting: Waiting,
    #[serde(default)]
    pub cards: Cards,
    /// UDP port whose frames are told apart in [`Statistics::air`].
    #[serde(default)]
    pub reports_port: Option<u16>,
}

/// What the stations' devices are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cards {
    /// TAP, for stations that receive: a frame is sent, as far as the socket knows, when it is in
    /// the device, however long it waits there.
    #[default]
    Tap,
    /// virtio-net: sockets know what waits, and TCP holds back (TCP small queues), as with a card.
    Virtio,
}

/// Where frames wait for the access point's transmitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waiting {
    /// The driver takes one at a time.
    #[default]
    Qdisc,
    /// The driver takes them all, and sends them as mac80211 does.
    Airtime,
}

impl Script {
    pub fn stations(&self) -> impl Iterator<Item = Station> + Clone {
        Station::first(self.stations.len())
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StationScript {
    pub motion: Motion,
    /// Index of the profile's rate; `None` leaves it to the profile.
    pub rate: Option<usize>,
}

/// How a station's SNR goes, in hundredths of a dB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Motion {
    Still {
        snr_centidb: i32,
    },
    /// Paper 003, figure 19: two minutes around the room.
    RoundTrip {
        far_centidb: i32,
        near_centidb: i32,
    },
    /// One after the other, each for so long, again and again.
    Steps {
        centidb: Vec<i32>,
        each: Duration,
    },
}

/// What the stations' receivers read, written to a file as `source = "file"` of a
/// policy wants it: a line for each station, its address and dB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SnrReports {
    pub file: PathBuf,
    pub interval: Duration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// How long the radio was on.
    pub length_ns: u64,
    pub stations: Vec<StationStatistics>,
    /// What happened on the air in each interval.
    pub air: Vec<AirStatistics>,
    /// Frames from the access point that were for none of the stations; they
    /// were not sent.
    pub to_nobody: u64,
    /// How long the process took to hand the next frame to the free transmitter
    /// of the access point, where one was waiting: the longest, the sum, how many.
    pub gap_max_ns: u64,
    pub gap_sum_ns: u64,
    pub gaps: u64,
}

/// By the time at which a frame was done with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AirStatistics {
    /// Somebody sent, or was about to answer.
    pub busy_ns: u64,
    pub frames: u64,
    /// Of these, frames of [`Script::reports_port`]; and what they took of the air.
    pub reports: u64,
    pub reports_ns: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationStatistics {
    /// From the access point.
    pub down: Way,
    pub up: Way,
    /// What its frames took of the air, both ways.
    pub busy_ns: u64,
    pub attempts: u64,
    pub collisions: u64,
    pub losses: u64,
}

/// Bytes are those of Ethernet frames without FCS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// That a transmitter took in hand; broadcasts count where they arrive only.
    pub frames: u64,
    pub delivered_frames: u64,
    pub delivered_bytes: u64,
    /// Given up after the last attempt.
    pub given_up: u64,
    /// That arrived and that the receiving device had no room for.
    pub no_room: u64,
    /// Delivered bytes in each interval, the last of which may be short.
    pub bytes_per_interval: Vec<u64>,
    /// Frames taken in hand in each interval.
    pub frames_per_interval: Vec<u64>,
}

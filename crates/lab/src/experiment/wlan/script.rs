//! The radio process's input and output. Both are JSON.

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
    /// The wire's delay, each way.
    pub wire_delay: Duration,
    /// Random loss of what the access point sends over the wire.
    #[serde(default)]
    pub wire_loss_ppm: u32,
    /// The interval of throughput samples.
    pub interval: Duration,
    pub reports: Option<SnrReports>,
    #[serde(default)]
    pub waiting: Waiting,
    #[serde(default)]
    pub cards: Cards,
    /// UDP port whose frames are counted separately in [`Statistics::air`].
    #[serde(default)]
    pub reports_port: Option<u16>,
}

/// The kind of the stations' devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cards {
    /// TAP, for stations that receive: for its socket a frame is sent when it is in the device,
    /// however long it waits there.
    #[default]
    Tap,
    /// virtio-net: sockets know which frames wait, and TCP small queues work, as with a card.
    Virtio,
}

/// Where frames wait for the access point's transmitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waiting {
    /// The driver takes one at a time.
    #[default]
    Qdisc,
    /// The driver takes all, and sends them as mac80211 does.
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

/// A station's SNR over time, in hundredths of a dB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Motion {
    Still {
        snr_centidb: i32,
    },
    /// SoCPS, figure 19: two minutes around the room.
    RoundTrip {
        far_centidb: i32,
        near_centidb: i32,
    },
    /// In turn, each for this long, repeatedly.
    Steps {
        centidb: Vec<i32>,
        each: Duration,
    },
}

/// The readings of the stations' receivers, written to a file in the format of a policy's
/// `source = "file"`: a line for each station, its address and dB.
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
    /// The air in each interval.
    pub air: Vec<AirStatistics>,
    /// Frames from the access point that were for none of the stations; they were not sent.
    pub to_nobody: u64,
    /// The time that the process took to pass the next waiting frame to the free transmitter of
    /// the access point: the longest, the sum, the count.
    pub gap_max_ns: u64,
    pub gap_sum_ns: u64,
    pub gaps: u64,
}

/// By the time at which a frame was finished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AirStatistics {
    /// The air was occupied by a frame or the wait for an answer.
    pub busy_ns: u64,
    pub frames: u64,
    /// Of these, frames of [`Script::reports_port`], and their air time.
    pub reports: u64,
    pub reports_ns: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationStatistics {
    /// From the access point.
    pub down: Way,
    pub up: Way,
    /// Air time of its frames, both ways.
    pub busy_ns: u64,
    pub attempts: u64,
    pub collisions: u64,
    pub losses: u64,
}

/// Bytes are those of Ethernet frames without FCS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Frames that a transmitter took; broadcasts count only where they arrive.
    pub frames: u64,
    pub delivered_frames: u64,
    pub delivered_bytes: u64,
    /// Dropped after the last attempt.
    pub given_up: u64,
    /// Arrived, but the receiving device had no room.
    pub no_room: u64,
    /// Delivered bytes in each interval, the last of which may be short.
    pub bytes_per_interval: Vec<u64>,
    /// Frames taken in each interval.
    pub frames_per_interval: Vec<u64>,
}

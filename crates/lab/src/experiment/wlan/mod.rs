//! A wireless LAN in the lab: a server on a wire, an access point that bridges,
//! and stations on the air, each in a network namespace of its own.
//!
//! Real are every protocol stack, the bridge, the access point's qdisc and its network driver.
//! One process emulates the access point's radio ([`card`](super::card), a virtio device whose hardware is
//! that process), the stations' radios ([`station`], a TAP device or such a card each) and the
//! air between them (takt-medium). The access point's driver may have one frame in flight (its
//! byte queue limit is 0) and gets it back when the air has finished it. So all other frames
//! wait in the qdisc, where a scheduler can choose. Or it takes them all and queues them as
//! mac80211 would ([`airtime`]).
//!
//! The access point is a bridge, as access points are: frames keep the server's headers, and
//! their destination, which the qdisc sees, is the station. Neighbours are permanent and no
//! host sends unasked, so the air carries the experiment's frames only.
//!
//! From the bottom: [`plan`] has the names, [`network`] builds what is not on the air,
//! [`script`] is the input and output of the radio process, [`radio`] is that process,
//! [`ledger`] its counters, and [`Wlan`] all of it.

mod airtime;
mod cards;
mod codel;
mod ledger;
mod network;
mod nodes;
mod plan;
mod process;
mod radio;
mod reports;
mod script;
mod station;
mod tap;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use self::network::Network;
use self::process::Process;
use crate::experiment::error::{ExperimentError, Result};

pub use self::radio::play_from_stdin;

pub(super) use self::plan::{
    ACCESS_POINT, ACCESS_POINT_ADDRESS, BRIDGE, DEVICE, SERVER, SERVER_ADDRESS, Station,
};
pub(super) use self::script::{AirStatistics, Cards, Motion, SnrReports, StationScript, Waiting};
pub use self::script::{Script, Statistics};

/// A complete network, removed when this is dropped.
#[must_use]
pub struct Wlan {
    // Devices are dropped before their namespaces.
    radio: Process,
    _network: Network,
}

impl Wlan {
    /// Builds it; `takt` is the program for the radio process.
    pub fn build(takt: &Path, script: &Script) -> Result<Self> {
        let network = Network::build(script)?;
        let radio = Process::start(takt, script)?;
        network.join_radio(script)?;
        Ok(Self {
            radio,
            _network: network,
        })
    }

    /// Builds it as the file says, and runs a command in it until that ends.
    pub fn around(takt: &Path, script: &Path, command: &[OsString]) -> Result<Statistics> {
        let unreadable = |reason: String| ExperimentError::Unreadable {
            path: script.to_owned(),
            reason,
        };
        let text = std::fs::read_to_string(script).map_err(|e| unreadable(e.to_string()))?;
        let script = serde_json::from_str(&text).map_err(|e| unreadable(e.to_string()))?;
        let wlan = Self::build(takt, &script)?;
        if let Some((program, arguments)) = command.split_first() {
            let started = Command::new(program).args(arguments).status();
            started.map_err(|source| ExperimentError::Start {
                program: program.to_string_lossy().into_owned(),
                source,
            })?;
        }
        wlan.finish()
    }

    /// The zero of the medium's clock, in CLOCK_MONOTONIC.
    pub fn began_ns(&self) -> u64 {
        self.radio.began_ns
    }

    /// Ends it; returns the air's statistics.
    pub fn finish(self) -> Result<Statistics> {
        self.radio.finish()
    }
}

//! A wireless LAN in the lab: a server on a wire, an access point that bridges,
//! and stations on the air, each in a network namespace of its own.
//!
//! What is real: every protocol stack, the bridge, the access point's qdisc and
//! its network driver. What is emulated, in one process: the access point's
//! radio ([`card`], a virtio device whose hardware is that process), the
//! stations' radios ([`station`], a TAP device or such a card each) and the air between them
//! (takt-medium). The access point's driver may have one frame under way (its byte
//! queue limit is 0) and gets it back when the air is done with it, so that all
//! others wait in the qdisc, where a scheduler can choose. Or it takes them all and
//! has them wait as mac80211 would ([`airtime`]).
//!
//! The access point is a bridge, as access points are: frames keep the server's
//! headers, and their destination is the station, which is what the qdisc sees.
//! Neighbours are permanent and nobody speaks unasked, so the air carries the
//! experiment's frames only.
//!
//! From the bottom: [`plan`] says what is called how, [`network`] builds what is
//! not on the air, [`script`] tells the radio process what to be and what it
//! says in the end, [`radio`] is that process, [`ledger`] what it counts, and
//! [`Wlan`] all of it.

mod airtime;
mod card;
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
    ACCESS_POINT, ACCESS_POINT_ADDRESS, BRIDGE, DEVICE, FIRST, SERVER, SERVER_ADDRESS, Station,
};
pub(super) use self::script::{AirStatistics, Cards, Motion, SnrReports, StationScript, Waiting};
pub use self::script::{Script, Statistics};

/// A network that stands, and goes when this is dropped.
#[must_use]
pub struct Wlan {
    // Devices go before the namespaces they are in.
    radio: Process,
    _network: Network,
}

impl Wlan {
    /// Builds it; `takt` is the program that plays the radio.
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

    /// When the medium's clock began, in CLOCK_MONOTONIC.
    pub fn began_ns(&self) -> u64 {
        self.radio.began_ns
    }

    /// Ends it; returns what the air carried.
    pub fn finish(self) -> Result<Statistics> {
        self.radio.finish()
    }
}

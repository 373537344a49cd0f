//! Terminals of one WLAN.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

/// Terminals that share the air, keep one small queue together, and report their throughput to each
/// other (cooperative middleware).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Crowd {
    /// The group's name, the same on all of its hosts.
    pub group: String,
    /// The key that reports are sent and taken with; a relative path as that of [`Radio`].
    pub key_file: PathBuf,
    /// The device on the shared air. Flows that leave by it are bounded.
    pub device: String,
    /// Between two reports, and between two bounds of a flow.
    pub interval_ns: u64,
    /// Whether what this host receives is bounded, too.
    pub downloads: bool,
    /// The role of this host in the group.
    pub role: CrowdRole,
}

/// The UDP port of a group's reports.
pub const CROWD_PORT: u16 = 7642;

/// How reports of a group are distributed, and the role of this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum CrowdRole {
    /// A terminal; reports are multicast.
    Multicast,
    /// A terminal that reports to an aggregator, which answers with the reports of all.
    Aggregated {
        /// The aggregator's address.
        by: SocketAddr,
    },
    /// The aggregator. Its own flows are not bounded.
    Aggregator,
}

impl Crowd {
    /// Whether flows of this host are bounded.
    pub fn has_bounds(&self) -> bool {
        self.role != CrowdRole::Aggregator
    }
}

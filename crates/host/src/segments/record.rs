//! What takt remembers of the sockets of a network namespace whose segments it keeps short.

use serde::{Deserialize, Serialize};
use takt_planner::flow::SocketRates;

use super::above::Limit;
use crate::{
    error::Error,
    state::{records::Records, source::Source},
};

/// The directory of the records.
pub(crate) const RECORDS_DIR: &str = "segments";

pub(super) const RECORDS: Records = Records(RECORDS_DIR);

/// Of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub devices: Vec<Held>,
    /// Those above the devices of links.
    pub above: Vec<Limit>,
    /// What [`super::round_trips`] found; `None`: it changed nothing.
    pub round_trips_before: Option<u32>,
}

/// A device whose connections have such rates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    pub ifindex: u32,
    /// The policy: its matches say which classes connections are in.
    pub source: Source,
    pub terms: SocketRates,
    /// The slot in which the programs find answers about the owners of sockets; `None`: they ask nothing.
    pub who_slot: Option<u32>,
    /// The number of the program that sees connections begin.
    pub program: Option<u32>,
}

/// Make the records usable for taking back what they are about.
pub(crate) fn salvage(netns_cookie: u64) -> Result<(), Error> {
    RECORDS.salvage::<Record>(netns_cookie).map(drop)
}

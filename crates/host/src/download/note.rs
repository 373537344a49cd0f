//! What takt remembers of the downloads of a network namespace.

use serde::{Deserialize, Serialize};

use super::merged::Merged;
use crate::{error::Error, state::note::Notes};

/// The directory of the records.
pub(crate) const RECORDS: &str = "downloads";

pub(super) const NOTES: Notes = Notes(RECORDS);

/// Of a namespace: all that is redirected, or may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    pub downloads: Vec<Redirected>,
}

/// A device whose incoming packets go through another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Redirected {
    pub ifindex: u32,
    /// The number of the device that they go through.
    pub through: u32,
    /// Whether the device's clsact or ingress qdisc is another program's, and stays.
    pub keeps_clsact: bool,
    /// `None`: its limit of merged packets is left.
    pub merged: Option<Merged>,
}

/// Make the records usable for taking back what they are about.
pub(crate) fn salvage(netns_cookie: u64) -> Result<(), Error> {
    NOTES.salvage::<Note>(netns_cookie).map(drop)
}

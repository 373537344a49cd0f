//! What takt remembers of the downloads of a network namespace.

use serde::{Deserialize, Serialize};

use super::merged::Merged;
use crate::{error::Error, state::records::Records};

/// The directory of the records.
pub(crate) const RECORDS_DIR: &str = "downloads";

pub(super) const RECORDS: Records = Records(RECORDS_DIR);

/// Of a namespace: all that is redirected, or may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
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
    RECORDS.salvage::<Record>(netns_cookie).map(drop)
}

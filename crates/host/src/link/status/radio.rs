//! Stations, on a link that tells them apart.

use serde::Serialize;
use takt_algo::sys::{TAKT_STATIONS_MAC, TAKT_STATIONS_NONE};

use super::Heard;
use crate::link::{
    counted::Counted,
    managed::Managed,
    stations::{self, Station},
};

/// The stations of a link.
#[derive(Debug, Serialize)]
pub struct RadioStatus {
    /// `mac` or `ip`.
    pub known_by: &'static str,
    /// Whether the weights are refreshed. If not, all count as 1 but those set by hand. As of
    /// the link's last backlog.
    pub fresh: bool,
    /// What taktd has heard; `None` if it does not run here, or has no source for this link.
    /// The caller has to ask taktd.
    pub heard: Option<Heard>,
    /// Sorted by address.
    pub stations: Vec<Station>,
}

pub(super) fn status(managed: &Managed, counted: &Counted) -> Option<RadioStatus> {
    let known_by = match managed.plan.stations {
        TAKT_STATIONS_NONE => return None,
        TAKT_STATIONS_MAC => "mac",
        _ => "ip",
    };
    Some(RadioStatus {
        known_by,
        fresh: counted.stations.stale == 0,
        heard: None,
        stations: stations::list(counted),
    })
}

//! Stations, on a link that tells them apart.

use serde::Serialize;
use takt_algo::sys::{TAKT_STATION_STALE_NS, TAKT_STATIONS_MAC, TAKT_STATIONS_NONE};
use takt_policy::{RadioSource, parse_in};

use super::Heard;
use crate::{
    link::{
        counted::Counted,
        managed::Managed,
        stations::{self, Station},
    },
    os::clock::monotonic_ns,
};

/// The stations of a link.
#[derive(Debug, Serialize)]
pub struct RadioStatus {
    /// `mac` or `ip`.
    pub known_by: &'static str,
    /// Whether the weights are refreshed. If not, all count as 1 but those set by hand.
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
        fresh: is_fresh(counted),
        heard: None,
        stations: stations::list(counted),
    })
}

fn is_fresh(counted: &Counted) -> bool {
    counted.stations.beat_ns + TAKT_STATION_STALE_NS >= monotonic_ns()
}

/// The source was heard, or taktd has waited for it in vain. Before taktd's first word it is not
/// known to be silent.
pub(super) fn problem(managed: &Managed, counted: &Counted) -> Option<String> {
    if managed.plan.stations == TAKT_STATIONS_NONE || is_fresh(counted) {
        return None;
    }
    let source = &managed.record.as_ref()?.source;
    let policy = parse_in(&source.folder, &source.name, &source.text).ok()?;
    let source = policy.radio?.source;
    let is_silent = source != RadioSource::None && counted.stations.beat_ns != 0;
    is_silent.then(|| {
        format!(
            "no station is heard by {}, so all weigh 1 but those set by hand: taktd does not run \
             here, or its log says why",
            source.name()
        )
    })
}

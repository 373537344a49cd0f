use std::fmt::Write;

use takt_daemon::{Done, NoTerms, Request, ask};
use takt_host::{RadioStatus, Status, stations::Station};

use crate::print;

use crate::print::weight;

/// Ask taktd for its reports. Without taktd there are none.
pub fn ask_taktd(status: &mut Status) {
    let links = status.links.iter_mut();
    let mut links: Vec<_> = links
        .filter_map(|link| Some((&link.device, link.radio.as_mut()?)))
        .collect();
    if links.is_empty() {
        return;
    }
    let Ok(Done::ListedRadio(listed)) = ask(&Request::ListRadio(NoTerms {})) else {
        return;
    };
    for (device, radio) in &mut links {
        let its = listed
            .sources
            .iter()
            .find(|heard| heard.links.contains(device));
        radio.heard = its.cloned();
    }
}

/// The stations of a link, below its classes.
pub fn write(text: &mut String, radio: &RadioStatus) {
    if !radio.fresh {
        let _ = writeln!(
            text,
            "  no strength of connection was written for 5 s: all stations weigh 1 but those set by hand"
        );
    }
    if let Some(heard) = &radio.heard {
        let _ = writeln!(
            text,
            "  heard by {}: {} samples, {} missed",
            heard.source, heard.heard_samples, heard.missed_samples
        );
        if let Some(datagrams) = &heard.datagrams {
            let _ = writeln!(text, "  {}", print::datagrams(datagrams));
        }
    }
    if radio.stations.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "  {:<39} {:>8} {:<10} {:>8} {:>12} {:>14} {:>9}",
        "station", "weight", "", "queued", "sent", "bytes", "dropped"
    );
    for station in &radio.stations {
        let _ = writeln!(
            text,
            "  {:<39} {:>8} {:<10} {:>8} {:>12} {:>14} {:>9}",
            station.address.to_string(),
            weight(station.applied_ppm),
            note(station),
            station.queued_packets,
            station.counters.sent_packets,
            station.counters.sent_bytes,
            station.counters.dropped_packets,
        );
    }
}

/// Remarks about a weight.
pub fn note(station: &Station) -> &'static str {
    match (station.known, station.held, station.by_hand) {
        (false, ..) => "unknown",
        (true, true, _) => "throttled",
        (true, false, true) => "by hand",
        (true, false, false) => "",
    }
}

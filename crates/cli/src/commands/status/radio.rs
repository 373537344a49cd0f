use std::fmt::Write;

use takt_daemon::{Done, NoTerms, Request, ask};
use takt_host::{RadioStatus, Status, stations::Station};

use super::write_table;
use crate::{
    columns::Row,
    print::{self, weight},
};

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
    let headings = [
        "station", "weight", "", "queued", "sent", "bytes", "dropped",
    ];
    let mut rows: Vec<Row> = vec![headings.map(str::to_owned).into()];
    rows.extend(radio.stations.iter().map(|station| {
        vec![
            station.address.to_string(),
            weight(station.applied_ppm),
            note(station).to_owned(),
            station.queued_packets.to_string(),
            station.counters.sent_packets.to_string(),
            station.counters.sent_bytes.to_string(),
            station.counters.dropped_packets.to_string(),
        ]
    }));
    write_table(text, &rows, |at| at == 0 || at == 2);
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

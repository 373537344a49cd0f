use std::fmt::Write;

use takt_kernel::{RadioStatus, stations::Station};

/// The stations of a link, below its classes.
pub fn write(text: &mut String, radio: &RadioStatus) {
    if !radio.fresh {
        let _ = writeln!(
            text,
            "  nobody has told how well stations hear for 5 s: all weigh 1 but those set by hand"
        );
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
            "  {:<39} {:>8.3} {:<10} {:>8} {:>12} {:>14} {:>9}",
            station.address.to_string(),
            f64::from(station.applied_ppm) / 1e6,
            note(station),
            station.queued_packets,
            station.counters.sent_packets,
            station.counters.sent_bytes,
            station.counters.dropped_packets,
        );
    }
}

/// What there is to say about a weight.
fn note(station: &Station) -> &'static str {
    match (station.known, station.held, station.by_hand) {
        (false, ..) => "unknown",
        (true, true, _) => "held",
        (true, false, true) => "by hand",
        (true, false, false) => "",
    }
}

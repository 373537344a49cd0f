//! Access points and gateways before them, whose stations are heard well or badly.

use super::report::Report;

const MS: u64 = 1_000_000;

/// A station at the edge has a stream that the air cannot carry to it. Others have several times
/// as much as without weights, and a call beside it waits for a frame that is repeated.
pub fn one_bad_link_costs_little(report: &Report) {
    let takt = report.takt();
    assert!(takt.source("call").p99_ns < 30 * MS);
    assert_eq!(takt.source("call").dropped_packets, 0);
    assert!(report.fifo().source("call").p99_ns > 1000 * MS);
    for peer in [report.cake(), report.fifo()] {
        assert!(takt.bps(&["film", "download"]) > 4.0 * peer.bps(&["film", "download"]));
    }
    // Its signal is bad, and not gone.
    assert!(takt.bps(&["camera"]) > 0.1 * report.cake().bps(&["camera"]));
}

/// Each station has its stream, whatever another one downloads, and the backup waits.
pub fn streams_reach_every_station(report: &Report) {
    let takt = report.takt();
    for station in ["kitchen", "bedroom", "study"] {
        let stream = takt.source(station);
        // What the radio repeats in vain is lost.
        assert!(
            stream.delivered_bps > 0.97 * stream.offered_bps,
            "{stream:?}"
        );
        assert!(
            stream.p99_ns < 20 * MS && stream.dropped_packets == 0,
            "{stream:?}"
        );
    }
    assert!(takt.bps(&["download"]) > 1.5 * report.cake().bps(&["download"]));
    assert!(takt.bps(&["backup"]) < 0.001 * report.rate_bps());
}

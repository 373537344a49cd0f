//! Servers and machines with paced classes, on fast links.

use super::report::Report;

const US: u64 = 1_000;

/// As close as a second of packets tells.
#[track_caller]
fn assert_near(got_bps: f64, wanted_bps: f64) {
    let ratio = got_bps / wanted_bps;
    assert!((ratio - 1.0).abs() < 0.002, "{got_bps} of {wanted_bps}");
}

/// Each of twenty viewers has 25 Mbit/s, pages have the rest, and the backup waits.
pub fn viewers_have_a_pace(report: &Report) {
    let takt = report.takt();
    assert_near(takt.bps(&["viewers"]), 20.0 * 25e6);
    assert!(takt.rate_error_ppm("video").abs() < 100.0);
    let rest_bps = report.rate_bps() - takt.bps(&["viewers"]);
    assert!(takt.bps(&["pages"]) > 0.97 * rest_bps);
    assert!(takt.bps(&["backup"]) < 0.001 * report.rate_bps());
    for peer in [report.cake(), report.fifo()] {
        assert!(peer.bps(&["backup"]) > 0.05 * report.rate_bps());
        assert!(peer.bps(&["viewers"]) < 0.95 * takt.bps(&["viewers"]));
    }
}

/// Thirty speakers are not late, though they are more than the class is guaranteed; streams have
/// their rate and no more; pages have the rest, and the backup waits.
pub fn streams_are_on_the_beat(report: &Report) {
    let takt = report.takt();
    takt.source("voice").assert_prompt(200 * US);
    assert!(report.fifo().source("voice").p99_ns > 20 * takt.source("voice").p99_ns);
    assert_near(takt.bps(&["streams"]), 400e6);
    assert!(takt.rate_error_ppm("video").abs() < 10.0);
    let rest_bps = report.rate_bps() - takt.bps(&["voice", "streams"]);
    assert!(takt.bps(&["pages"]) > 0.97 * rest_bps);
    assert!(takt.bps(&["pages"]) > 1.2 * report.cake().bps(&["pages"]));
    assert!(takt.bps(&["backup"]) < 0.001 * report.rate_bps());
}

/// Each of two thousand clients has 400 kbit/s, and the link has room left.
pub fn clients_have_a_pace(report: &Report) {
    let takt = report.takt();
    assert_near(takt.bps(&["clients"]), 2000.0 * 400e3);
    assert!(takt.rate_error_ppm("stream").abs() < 1000.0);
    // A packet of each client, every 30 ms; none in a burst.
    assert_eq!(takt.source("clients").dropped_packets, 0);
    for peer in [report.cake(), report.fifo()] {
        assert!(peer.bps(&["clients"]) > 0.99 * report.rate_bps());
    }
}

/// A late timer does not show.
pub fn spacing_is_exact(report: &Report) {
    let takt = report.takt();
    assert_near(takt.bps(&["measurement"]), 100e6);
    // A byte takes 8 ns.
    assert!(takt.spacing_error_ns("measurement") < 8.0);
    assert!(report.cake().spacing_error_ns("measurement") > 10_000.0);
    let rest_bps = report.rate_bps() - takt.bps(&["measurement"]);
    assert!(takt.bps(&["transfers"]) > 0.97 * rest_bps);
}

/// The guarantees hold against ten times as many connections, and the backup does not starve.
pub fn tenants_have_their_share(report: &Report) {
    let takt = report.takt();
    takt.source("acme-stream").assert_prompt(200 * US);
    assert!(takt.bps(&["acme-stream", "acme-web"]) > 600e6);
    assert!(takt.bps(&["zeta-web"]) > 300e6);
    assert_near(takt.bps(&["backup"]), 5e6);
    for peer in [report.cake(), report.fifo()] {
        assert!(peer.bps(&["acme-stream", "acme-web"]) < 0.7 * 600e6);
    }
}

/// Of what neither is guaranteed each has a half.
pub fn spare_capacity_is_halved(report: &Report) {
    assert_near(report.takt().bps(&["acme-web"]), 650e6);
    assert_near(report.takt().bps(&["zeta-web"]), 350e6);
    assert!(report.cake().bps(&["acme-web"]) < 0.2 * 600e6);
}

/// While the other is quiet, up to the ceiling.
pub fn a_tenant_borrows(report: &Report) {
    assert_near(report.takt().bps(&["acme-web"]), 900e6);
}

/// Commands are not late, samples come as the switch can buffer them, and the rest is not lost.
pub fn sensors_are_paced(report: &Report) {
    let takt = report.takt();
    takt.source("commands").assert_prompt(500 * US);
    assert!(report.fifo().source("commands").p99_ns > 10 * takt.source("commands").p99_ns);
    assert_near(takt.bps(&["samples"]), 2.5e6);
    assert!(takt.rate_error_ppm("samples").abs() < 10.0);
    for peer in [report.cake(), report.fifo()] {
        assert!(peer.bps(&["samples"]) > 2.0 * 2.5e6);
    }
    let rest_bps = report.rate_bps() - takt.bps(&["commands", "samples"]);
    assert!(takt.bps(&["transfers"]) > 0.97 * rest_bps);
}

pub fn replication_is_paced(report: &Report) {
    let takt = report.takt();
    assert_near(takt.bps(&["replication"]), 4e9);
    assert!(takt.rate_error_ppm("replication").abs() < 10.0);
    for peer in [report.cake(), report.fifo()] {
        assert!(peer.bps(&["replication"]) < 0.95 * 4e9);
    }
    let rest_bps = report.rate_bps() - takt.bps(&["replication"]);
    assert!(takt.bps(&["transfers"]) > 0.97 * rest_bps);
}

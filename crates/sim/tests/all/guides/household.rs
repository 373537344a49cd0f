//! Gateways and laptops: slow lines, where calls meet uploads and backups.

use super::report::Report;

const MS: u64 = 1_000_000;

/// Calls with video, a game and names are neither late nor lost, uploads lose nothing by it, and
/// the backup waits.
pub fn calls_stay_clear(report: &Report) {
    let (takt, cake, fifo) = (report.takt(), report.cake(), report.fifo());
    for source in ["calls", "game", "names"] {
        takt.source(source).assert_prompt(5 * MS);
        // The reason why there is a policy.
        assert!(fifo.source(source).p99_ns > 50 * MS);
    }
    assert!(takt.source("calls").p99_ns <= cake.source("calls").p99_ns);
    let rest_bps = report.rate_bps() - takt.bps(&["calls", "game", "names"]);
    assert!(takt.bps(&["uploads", "pages"]) > 0.97 * rest_bps);
    assert!(takt.bps(&["uploads"]) > 1.2 * cake.bps(&["uploads"]));
    assert!(takt.bps(&["pages"]) > cake.bps(&["pages"]));
    assert!(takt.bps(&["backup"]) < 0.01 * report.rate_bps());
}

/// The same of what comes in.
pub fn calls_stay_clear_of_downloads(report: &Report) {
    let (takt, cake, fifo) = (report.takt(), report.cake(), report.fifo());
    for source in ["calls", "names"] {
        takt.source(source).assert_prompt(5 * MS);
        assert!(takt.source(source).p99_ns <= cake.source(source).p99_ns);
        assert!(fifo.source(source).p99_ns > 10 * MS);
    }
    let rest_bps = report.rate_bps() - takt.bps(&["calls", "names"]);
    assert!(takt.bps(&["downloads", "pages"]) > 0.97 * rest_bps);
    assert!(takt.bps(&["pages"]) > fifo.bps(&["pages"]));
}

/// The background has all that a call leaves, and does not delay it.
pub fn the_backup_has_the_rest(report: &Report) {
    let takt = report.takt();
    takt.source("calls").assert_prompt(5 * MS);
    assert!(takt.source("calls").p99_ns <= report.cake().source("calls").p99_ns);
    assert!(report.fifo().source("calls").p99_ns > 50 * MS);
    let rest_bps = report.rate_bps() - takt.bps(&["calls"]);
    assert!(takt.bps(&["backup"]) > 0.97 * rest_bps);
}

/// A call beside the background waits for two frames at most, which take 4.4 ms at 5.5 Mbit/s, and
/// pages come sooner than under CAKE.
pub fn a_user_is_not_disturbed(report: &Report) {
    let (takt, cake, fifo) = (report.takt(), report.cake(), report.fifo());
    takt.source("call").assert_prompt(5 * MS);
    assert!(takt.source("call").p99_ns <= cake.source("call").p99_ns);
    assert!(fifo.source("call").p99_ns > 20 * MS);
    assert!(takt.bps(&["pages"]) > 1.05 * cake.bps(&["pages"]));
    assert!(takt.bps(&["pages"]) > 1.05 * fifo.bps(&["pages"]));
    let rest_bps = report.rate_bps() - takt.bps(&["call", "pages"]);
    assert!(takt.bps(&["backup", "sync"]) > 0.97 * rest_bps);
}

/// The background sends only when no other program does.
pub fn the_backup_waits(report: &Report) {
    assert!(report.takt().bps(&["upload"]) > 0.99 * report.rate_bps());
    assert!(report.takt().bps(&["backup"]) < 0.001 * report.rate_bps());
    // Four connections of five.
    assert!(report.cake().bps(&["backup"]) > 0.7 * report.rate_bps());
}

/// The link is slower than its wire, so that packets wait where they take turns.
pub fn packets_wait_here(report: &Report) {
    let (takt, fifo) = (report.takt(), report.fifo());
    for source in ["acknowledgements", "call"] {
        takt.source(source).assert_prompt(2 * MS);
        assert!(takt.source(source).p99_ns <= report.cake().source(source).p99_ns);
        assert!(fifo.source(source).p99_ns > 50 * MS);
    }
    let rest_bps = report.rate_bps() - takt.bps(&["acknowledgements", "call"]);
    assert!(takt.bps(&["downloads"]) > 0.97 * rest_bps);
    assert!(takt.bps(&["downloads"]) <= rest_bps);
}

/// A stream waits for two frames at most, and the backup has the rest.
pub fn streams_do_not_wait_for_the_backup(report: &Report) {
    let takt = report.takt();
    takt.source("streams").assert_prompt(MS / 2);
    assert!(takt.source("streams").p99_ns <= report.cake().source("streams").p99_ns);
    assert!(report.fifo().source("streams").p99_ns > 5 * MS);
    let rest_bps = report.rate_bps() - takt.bps(&["streams"]);
    assert!(takt.bps(&["backup"]) > 0.97 * rest_bps);
}

//! A recording of flows, drawn: as a page, and as a figure of a report.

use serde_json::json;
use takt_flows::Recording;
use takt_report::{Report, Row, flows_page, html};

/// From a machine of the lab: an upload over 20 Mbit/s that loses 1 %, and for a second all
/// packets.
fn sample() -> Recording {
    Recording::parse(include_str!("../fixtures/upload.flows")).unwrap()
}

fn assert_well_formed(text: &str) {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    if let Err(error) = roxmltree::Document::parse_with_options(text, options) {
        panic!("not well formed: {error}");
    }
}

#[test]
fn the_page_shows_every_flow() {
    let recording = sample();
    let page = flows_page("upload.flows", &recording);
    assert_well_formed(&page);
    assert_eq!(page.matches("<svg").count(), recording.tracks.len());
    for lane in ["timeout", "retransmit", "recovery", "window full"] {
        assert!(page.contains(lane), "{lane}");
    }
    assert!(!page.contains("NaN") && !page.contains("<script"));
    assert_eq!(page, flows_page("upload.flows", &recording));
}

#[test]
fn an_empty_recording_has_a_page() {
    let mut empty = sample();
    empty.tracks.clear();
    assert_well_formed(&flows_page("<&>", &empty));
}

#[test]
fn an_experiment_shows_what_it_recorded() {
    let lines = sample().heaviest(1).thinned(50).lines();
    let report = Report {
        experiment: "crowd".to_owned(),
        kernel: "6.18".to_owned(),
        clock: "virtual".to_owned(),
        command: String::new(),
        commit: String::new(),
        rows: vec![Row {
            scheduler: "takt".to_owned(),
            case: "upload".to_owned(),
            metrics: [("flows_lines".to_owned(), json!(lines))].into(),
        }],
    };
    let page = html(&[report]);
    assert_well_formed(&page);
    assert!(page.contains("Windows and round trips over time"));
}

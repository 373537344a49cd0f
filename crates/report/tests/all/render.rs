//! The sample reports, rendered. Their figures are made up but plausible, so that the layout is
//! tested with realistic values, and marked as samples.

use takt_report::{Report, Row, html, picture, table};

fn sample() -> Vec<Report> {
    serde_json::from_str(include_str!("../fixtures/sample.json")).unwrap()
}

/// The text is XML: nothing unclosed, nothing unescaped.
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
fn pacing_as_a_table() {
    insta::assert_snapshot!(table(&sample()[0]));
}

#[test]
fn cost_as_a_table() {
    insta::assert_snapshot!(table(&sample()[1]));
}

#[test]
fn an_unforeseen_experiment_as_a_table() {
    insta::assert_snapshot!(table(&sample()[2]));
}

#[test]
fn background_as_a_table() {
    insta::assert_snapshot!(table(&sample()[3]));
}

#[test]
fn beats_as_a_table() {
    insta::assert_snapshot!(table(&sample()[4]));
}

#[test]
fn no_table_is_wider_than_a_terminal() {
    for report in sample() {
        for line in table(&report).lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn the_page_is_well_formed_and_has_its_figures() {
    let page = html(&sample());
    assert_well_formed(&page);
    assert_eq!(page.matches("<svg").count(), 9);
}

#[test]
fn the_page_loads_nothing() {
    let page = html(&sample());
    for loader in ["<script", "<link", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(loader), "{loader}");
    }
}

#[test]
fn the_same_reports_give_the_same_bytes() {
    assert_eq!(html(&sample()), html(&sample()));
}

#[test]
fn a_picture_stands_alone() {
    let picture = picture(&sample()[0]).unwrap();
    assert_well_formed(&picture);
    assert!(picture.contains("<style>"));
}

#[test]
fn an_unforeseen_experiment_has_a_page_but_no_picture() {
    let reports = vec![sample().swap_remove(2)];
    assert_well_formed(&html(&reports));
    assert_eq!(picture(&reports[0]), None);
}

#[test]
fn no_reports_and_no_rows_are_shown_too() {
    assert_well_formed(&html(&[]));
    let mut empty = sample().remove(0);
    empty.rows.clear();
    assert_well_formed(&html(std::slice::from_ref(&empty)));
    assert!(table(&empty).contains("scheduler"));
}

#[test]
fn names_and_values_cannot_break_the_page() {
    let mut report = sample().remove(0);
    report.commit = "<b>&\"'".to_owned();
    report.rows = vec![Row {
        scheduler: "<script>".to_owned(),
        case: "single-<&>".to_owned(),
        metrics: serde_json::from_str(
            r#"{"target_bps": 0, "rate_error_ppm": 1e300, "spacing_error_p99_ns": -5,
                "spacing_error_histogram_ns": [[0, 1], "odd", [5]], "cost_ns_per_packet": -3,
                "note_text": "a<b", "odd_ns": "late"}"#,
        )
        .unwrap(),
    }];
    let page = html(&[report]);
    assert_well_formed(&page);
    assert!(!page.contains("<script>") && !page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn packets_from_outside_have_a_table_of_their_own() {
    let row = |case: &str, metrics: serde_json::Value| Row {
        scheduler: "takt".to_owned(),
        case: case.to_owned(),
        metrics: serde_json::from_value(metrics).unwrap(),
    };
    let late = serde_json::json!({ "jitter_p99_ns": 7 });
    let interrupted = serde_json::json!({ "jitter_p99_ns": 7, "interrupts_count": 0 });
    let report = Report {
        rows: vec![
            row("40ms-600kBps", late.clone()),
            row("storm-0", interrupted.clone()),
            row("storm-600", interrupted),
            row("edge-idle", late),
        ],
        ..sample().remove(4)
    };
    let text = table(&report);
    assert_eq!(text.matches(" case ").count(), 3, "{text}");
    assert_eq!(text.matches("interrupts").count(), 1, "{text}");
}

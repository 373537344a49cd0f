//! Compares figures in docs/ and the README with the reports in docs/results, to the byte.
//! After new runs (`make results`), `TAKT_UPDATE=1 cargo test -p takt-report --test all results`
//! updates them.
//!
//! [`runs`] reads the reports; [`table`] is a table of docs/comparison.md and [`tables`] lists
//! them, [`sentence`] and [`sentences`] do the same for figures in its text; [`headlines`] are
//! the lines of the README's table; [`page`] is docs/RESULTS.md, which has all figures with
//! their source and spread.

mod headlines;
mod page;
mod runs;
mod sentence;
mod sentences;
mod simulated;
mod simulator;
mod table;
mod tables;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use takt_report::{picture, table as text_table};

use self::{runs::Runs, sentence::Sentence};

const COMPARISON: &str = "docs/comparison.md";
const SIMULATOR: &str = "docs/sim.md";
const EXPERIMENTS: [&str; 9] = [
    "pacing",
    "background",
    "beats",
    "radio",
    "crowd",
    "cost",
    "caches",
    "sim",
    simulated::EXPERIMENT,
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn all_runs() -> Vec<Runs> {
    let results = root().join("docs/results");
    EXPERIMENTS.map(|name| Runs::read(&results, name)).into()
}

#[test]
fn tables_and_pictures_are_those_of_the_reports() {
    // The simulator alone has hundreds of rows; its tables are in docs/sim.md.
    let all = all_runs();
    let is_measured = |runs: &&Runs| runs.shown().experiment != simulated::EXPERIMENT;
    for runs in all.iter().filter(is_measured) {
        let report = runs.shown();
        let name = &report.experiment;
        generated(
            &format!("docs/results/{name}.generated.txt"),
            &text_table(report),
        );
        // What only tables show has none.
        if let Some(picture) = picture(report) {
            generated(&format!("docs/results/{name}.generated.svg"), &picture);
        }
    }
}

#[test]
fn the_page_of_results_is_that_of_the_reports() {
    generated("docs/RESULTS.md", &page::page(&all_runs()));
}

#[test]
fn the_tables_of_the_comparison_are_those_of_the_reports() {
    assert_tables(COMPARISON, &tables::all());
}

#[test]
fn the_tables_about_the_simulator_are_those_of_the_reports() {
    let mut tables = simulator::all();
    tables.extend(simulated::all());
    assert_tables(SIMULATOR, &tables);
}

#[track_caller]
fn assert_tables(page: &str, tables: &[table::Table]) {
    let runs = all_runs();
    let mut text = read(page);
    for table in tables {
        let figures = table.markdown(runs::of(&runs, table.experiment), table::Show::Figure);
        text = table::replaced(&text, table.name, &figures);
    }
    generated(page, &text);
}

#[test]
fn the_sentences_of_the_comparison_are_those_of_the_reports() {
    assert_said(COMPARISON, &sentences::all());
}

#[test]
fn the_readmes_headlines_are_those_of_the_reports() {
    assert_said("README.md", &headlines::all());
}

#[track_caller]
fn assert_said(page: &str, sentences: &[Sentence]) {
    let runs = all_runs();
    let said = words(&read(page));
    for sentence in sentences {
        let wanted = sentence.text(runs::of(&runs, sentence.experiment), table::Show::Figure);
        assert!(
            said.contains(&words(&wanted)),
            "{page} does not say: {wanted}"
        );
    }
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap()
}

/// Lines may break anywhere.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn generated(name: &str, wanted: &str) {
    let path = root().join(name);
    if env::var_os("TAKT_UPDATE").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{name} is stale");
}

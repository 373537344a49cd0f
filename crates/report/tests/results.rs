//! The results in docs/ are what the reports beside them say, to the byte.
//! After a new run, `TAKT_UPDATE=1 cargo test -p takt-report` writes them anew.

use std::{env, fs, path::Path};

use takt_report::{Report, picture, table};

#[test]
fn the_shown_results_are_those_of_the_reports() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    for name in ["pacing", "background", "beats", "radio", "crowd", "cost"] {
        let json = fs::read_to_string(results.join(name).with_extension("json")).unwrap();
        let report: Report = serde_json::from_str(&json).unwrap();
        generated(&results, name, "txt", &table(&report));
        generated(&results, name, "svg", &picture(&report).unwrap());
    }
}

fn generated(results: &Path, name: &str, extension: &str, wanted: &str) {
    let path = results.join(format!("{name}.generated.{extension}"));
    if env::var_os("TAKT_UPDATE").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is stale", path.display());
}

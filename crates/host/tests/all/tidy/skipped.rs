//! Where a crate's manifest says that a library has no tests, so that cargo builds no program for
//! them, it has none. A test there would never run.

use super::sources;

/// The settings of `[lib]`.
fn library(manifest: &str) -> &str {
    let settings = manifest.split("[lib]\n").nth(1).unwrap_or_default();
    settings.split("\n[").next().unwrap_or_default()
}

/// The first lines of a comment's examples that rustdoc would run.
fn examples(text: &str) -> impl Iterator<Item = &str> {
    let comments = text.lines().map(str::trim_start);
    let fences = comments.filter(|line| {
        let comment = line
            .strip_prefix("//!")
            .or_else(|| line.strip_prefix("///"));
        comment.is_some_and(|text| text.trim_start().starts_with("```"))
    });
    // Every other fence closes.
    fences.step_by(2).filter(|line| !line.ends_with("```text"))
}

#[test]
fn no_test_is_skipped() {
    let mut skipped = Vec::new();
    let mut count = 0;
    for manifest in sources::below("crates", &["toml"]) {
        if !manifest.path.ends_with("Cargo.toml") {
            continue;
        }
        let settings = library(&manifest.text);
        let units = settings.contains("\ntest = false") || settings.starts_with("test = false");
        let docs = settings.contains("doctest = false");
        count += usize::from(units || docs);
        let folder = manifest.path.with_file_name("src");
        for source in sources::below(&folder.to_string_lossy(), &["rs"]) {
            if units && source.text.contains("#[test]")
                || docs && examples(&source.text).next().is_some()
            {
                skipped.push(source.path);
            }
        }
    }
    assert!(count > 10, "{count}");
    assert!(skipped.is_empty(), "tests that never run: {skipped:#?}");
}

#[test]
fn an_example_is_a_fence_without_text() {
    let of = |text| examples(text).count();
    assert_eq!(of("//! ```\n//! f();\n//! ```\n"), 1);
    assert_eq!(of("/// ```text\n/// a\n/// ```\n"), 0);
    assert_eq!(
        library("[lib]\ndoctest = false\n\n[lints]\n"),
        "doctest = false\n"
    );
}

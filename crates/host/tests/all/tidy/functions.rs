//! A function of C fits the screen; clippy sees to those of Rust (clippy.toml).

use super::sources;

/// Between its braces.
const LINES_MAX: usize = 70;

/// The line at which each function begins, and its length.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut begin = None;
    for (at, line) in text.lines().enumerate() {
        match (line, begin) {
            ("{", _) => begin = Some(at),
            ("}", Some(first)) => {
                found.push((first, at - first - 1));
                begin = None;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn functions_fit_the_screen() {
    let mut long = Vec::new();
    let mut count = 0;
    for source in sources::c() {
        for (at, lines) in functions(&source.text) {
            count += 1;
            if lines > LINES_MAX {
                long.push(format!("{}:{at}: {lines} lines", source.path.display()));
            }
        }
    }
    assert!(count > 100, "{count}");
    assert!(long.is_empty(), "longer than {LINES_MAX} lines: {long:#?}");
}

#[test]
fn a_function_is_what_is_between_braces_at_the_margin() {
    assert_eq!(functions("int f(void)\n{\n\tif (a) {\n\t}\n}\n"), [(1, 2)]);
}

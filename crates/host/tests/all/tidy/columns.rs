//! Lines of C fit the screen; rustfmt sees to those of Rust.

use super::sources;

/// As in .clang-format.
const COLUMNS_MAX: usize = 100;
const TAB: usize = 8;

fn columns(line: &str) -> usize {
    line.chars().fold(0, |column, letter| match letter {
        '\t' => (column / TAB + 1) * TAB,
        _ => column + 1,
    })
}

#[test]
fn lines_fit_the_screen() {
    let mut long = Vec::new();
    for source in sources::c() {
        for (at, line) in source.text.lines().enumerate() {
            if columns(line) > COLUMNS_MAX {
                long.push(format!("{}:{}", source.path.display(), at + 1));
            }
        }
    }
    assert!(
        long.is_empty(),
        "longer than {COLUMNS_MAX} columns: {long:#?}"
    );
}

#[test]
fn a_tab_ends_at_a_multiple_of_eight() {
    assert_eq!(columns("ab\tc"), 9);
    assert_eq!(columns("\t\t"), 16);
}

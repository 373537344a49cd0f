//! What libtest prints, read.

use std::{iter::Sum, ops::AddAssign};

/// Lines of an account that are repeated, and their length.
const ACCOUNT_LINES: usize = 12;
const ACCOUNT_COLUMNS: usize = 1000;
/// Of all accounts together.
const ACCOUNTS_LINES_MAX: usize = 150;

/// Numbers of tests, as libtest adds them up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(all: I) -> Counts {
        all.fold(Counts::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}

/// The closing line of a test program, if it got that far. Tests may print such lines of programs
/// that they ran, before.
pub fn counts(said: &str) -> Option<Counts> {
    said.lines().rev().find_map(closing)
}

/// Those of all programs in the output of `cargo test`, of which there is at least one.
pub fn counts_of_all(said: &str) -> Option<Counts> {
    counts(said)?;
    Some(said.lines().filter_map(closing).sum())
}

fn closing(line: &str) -> Option<Counts> {
    let (_, columns) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let column = |name: &str| {
        let columns = columns.split("; ");
        let number = columns
            .filter_map(|column| column.strip_suffix(name))
            .next();
        number?.trim().parse().ok()
    };
    Some(Counts {
        passed: column("passed")?,
        failed: column("failed")?,
        ignored: column("ignored")?,
    })
}

/// The names of the tests that failed, in their order.
pub fn failed_tests(said: &str) -> Vec<&str> {
    let lines = said.lines();
    let names = lines.filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    names.collect()
}

/// What failed tests said: the lines from each panic, as many as a reader looks at.
pub fn accounts<'a>(all: impl IntoIterator<Item = &'a str>) -> String {
    let mut told = String::new();
    let mut left = 0;
    let mut lines_left = ACCOUNTS_LINES_MAX;
    for line in all.into_iter().flat_map(str::lines) {
        if line.contains(" panicked at ") {
            left = ACCOUNT_LINES;
        }
        if left == 0 || lines_left == 0 {
            continue;
        }
        left -= 1;
        lines_left -= 1;
        told.extend(line.chars().take(ACCOUNT_COLUMNS));
        told.push('\n');
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
running 3 tests
test a::b ... ok
test a::c ... FAILED
test a::d ... ignored

failures:

---- a::c stdout ----

thread 'a::c' (7) panicked at crates/a/src/lib.rs:1:2:
it is 2
test result: ok. 90 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s

failures:
    a::c

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

    #[test]
    fn the_last_closing_line_counts() {
        let counts = counts(SAID).unwrap();
        assert_eq!((counts.passed, counts.failed, counts.ignored), (1, 1, 1));
        assert_eq!(super::counts("running 3 tests\n"), None);
        assert_eq!(counts_of_all(SAID).unwrap().passed, 91);
    }

    #[test]
    fn failed_tests_are_named() {
        assert_eq!(failed_tests(SAID), ["a::c"]);
    }

    #[test]
    fn accounts_begin_at_panics_and_end() {
        let told = accounts([SAID]);
        assert!(
            told.starts_with("thread 'a::c' (7) panicked at crates/a"),
            "{told}"
        );
        assert!(told.contains("it is 2\n"), "{told}");
        let long = format!("x panicked at y\n{}", "line\n".repeat(100));
        assert_eq!(accounts([long.as_str()]).lines().count(), ACCOUNT_LINES);
        let many = long.repeat(100);
        assert_eq!(
            accounts([many.as_str()]).lines().count(),
            ACCOUNTS_LINES_MAX
        );
    }
}

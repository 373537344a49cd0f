//! The cases that no change may lose: each that ran when tests were shared out among programs and
//! rounds runs today, or its successor does.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};

/// A crate and a test's name, without the modules in which the test is.
type Case<'a> = (&'a str, &'a str);

/// Those of commit ad3081f5, one a line; the same name several times where several modules have it.
const KEPT: &str = include_str!("cases.txt");
/// See there.
const SUCCESSORS: &str = include_str!("successors.txt");

/// The names in a list by libtest, `--list --format terse`.
pub fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_suffix(": test"))
}

/// For readers: the kept cases that are not among these, which are pairs of a crate and a test's
/// whole name.
pub fn missing<'a>(
    present: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> anyhow::Result<Vec<String>> {
    missing_of(KEPT, SUCCESSORS, present)
}

fn missing_of<'a>(
    kept: &str,
    successors: &str,
    present: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> anyhow::Result<Vec<String>> {
    let present = count(present.into_iter().map(|(of, name)| (of, last(name))));
    let kept = kept.lines().map(case).collect::<anyhow::Result<Vec<_>>>()?;
    let kept = count(kept);
    let mut renamed: BTreeMap<Case, usize> = BTreeMap::new();
    for line in successors.lines().filter(|line| !line.starts_with('#')) {
        let (old, new) = line
            .split_once(" = ")
            .with_context(|| format!("successors.txt: {line:?} has no \" = \""))?;
        let (old, new) = (case(old)?, case(new)?);
        ensure!(
            kept.contains_key(&old),
            "successors.txt: {line:?}: cases.txt has no such case"
        );
        ensure!(
            present.contains_key(&new),
            "successors.txt: {line:?}: no such test"
        );
        *renamed.entry(old).or_default() += 1;
    }
    let of = |counts: &BTreeMap<Case, usize>, case: &Case| counts.get(case).copied().unwrap_or(0);
    let mut missing = Vec::new();
    for (case, wanted) in &kept {
        if of(&present, case) + of(&renamed, case) < *wanted {
            missing.push(format!("{} {}", case.0, case.1));
        }
    }
    Ok(missing)
}

fn count<'a>(cases: impl IntoIterator<Item = Case<'a>>) -> BTreeMap<Case<'a>, usize> {
    let mut counts = BTreeMap::new();
    for case in cases {
        *counts.entry(case).or_default() += 1;
    }
    counts
}

fn case(line: &str) -> anyhow::Result<Case<'_>> {
    line.split_once(' ')
        .with_context(|| format!("{line:?} is no crate and case"))
}

fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "takt-a x\ntakt-a x\ntakt-b y\n";

    fn missing(successors: &str, present: &[(&str, &str)]) -> String {
        match missing_of(TWO, successors, present.iter().copied()) {
            Ok(missing) => missing.join(", "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn cases_may_move_within_a_crate() {
        let all = [
            ("takt-a", "m::x"),
            ("takt-a", "n::o::x"),
            ("takt-b", "y"),
            ("takt-b", "z"),
        ];
        assert_eq!(missing("", &all), "");
        assert_eq!(missing("", &all[1..]), "takt-a x");
        assert_eq!(missing("", &[("takt-b", "x")]), "takt-a x, takt-b y");
    }

    #[test]
    fn a_successor_stands_for_a_case() {
        let here = [("takt-a", "m::x"), ("takt-a", "m::w"), ("takt-c", "z")];
        let both = "# why\ntakt-a x = takt-a w\ntakt-b y = takt-c z\n";
        assert_eq!(missing(both, &here), "");
        assert_eq!(missing("takt-b y = takt-c z\n", &here), "takt-a x");
    }

    #[test]
    fn a_successor_that_does_not_exist_is_named() {
        let here = [("takt-a", "m::x")];
        let told = missing("takt-b y = takt-c z\n", &here);
        assert!(told.contains("takt-c z\": no such test"), "{told}");
        let told = missing("takt-b w = takt-a x\n", &here);
        assert!(told.contains("no such case"), "{told}");
        assert!(missing("takt-b y\n", &here).contains("has no"));
    }

    #[test]
    fn lists_are_read() {
        let list = "a::b: test\na::c: benchmark\n\n2 tests, 0 benchmarks\n";
        assert_eq!(listed(list).collect::<Vec<_>>(), ["a::b"]);
    }
}

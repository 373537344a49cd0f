//! Figures in what tests print, compared between runs.

use std::{collections::BTreeMap, fmt::Write};

/// Figures that differ by less are the same.
const RATIO: f64 = 0.1;
/// A line says so much of what it is about.
const COLUMNS: usize = 100;

/// What one run said of each test.
#[derive(Debug, Default)]
pub struct Run {
    verdicts: BTreeMap<String, String>,
    /// By test, and by a line without its figures.
    figures: BTreeMap<(String, String), Vec<f64>>,
}

impl Run {
    /// libtest's output with `--show-output`.
    pub fn read(said: &str) -> Run {
        let mut run = Run::default();
        let mut test = None;
        for line in said.lines() {
            if let Some((name, verdict)) = verdict(line) {
                run.verdicts.insert(name.to_owned(), verdict.to_owned());
            } else if let Some(name) = heading(line) {
                test = Some(name);
            } else if line == "failures:" || line == "successes:" {
                test = None;
            } else if let Some(test) = test {
                let (shape, figures) = figures(line);
                // A second line of the same shape continues the first.
                let key = (test.to_owned(), shape);
                run.figures.entry(key).or_default().extend(figures);
            }
        }
        run
    }
}

/// For readers: the tests whose verdict or figures differ between the runs.
pub fn differences(runs: &[Run]) -> String {
    let mut told = String::new();
    let mut names: Vec<_> = runs.iter().flat_map(|run| run.verdicts.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let verdicts = runs.iter().map(|run| run.verdicts.get(name));
        let verdicts: Vec<_> = verdicts
            .map(|it| it.map_or("not run", String::as_str))
            .collect();
        if verdicts.iter().any(|verdict| *verdict != verdicts[0]) {
            let _ = writeln!(told, "{name}: {}", verdicts.join(", "));
        }
    }
    let Some((first, others)) = runs.split_first() else {
        return told;
    };
    for (key, figures) in &first.figures {
        let others: Option<Vec<_>> = others.iter().map(|run| run.figures.get(key)).collect();
        // Lines that not every run has, and as often, are no figures of a test's.
        let Some(others) = others.filter(|all| all.iter().all(|it| it.len() == figures.len()))
        else {
            continue;
        };
        for (at, figure) in figures.iter().enumerate() {
            let mut values: Vec<f64> = others.iter().map(|other| other[at]).collect();
            values.push(*figure);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if most - least > RATIO * most.abs().max(least.abs()) {
                let line: String = key.1.chars().take(COLUMNS).collect();
                let _ = writeln!(told, "{}: {least} to {most} in: {line}", key.0);
            }
        }
    }
    told
}

fn verdict(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.split_once(" ... ")
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// A line with `#` in the place of each figure, and these. Times are in seconds, whatever their unit.
fn figures(line: &str) -> (String, Vec<f64>) {
    let mut shape = String::new();
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        shape.push_str(before);
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        let end = from.find(|letter| !is_part(letter)).unwrap_or(from.len());
        let end = from[..end].trim_end_matches('.').len();
        // Part of a name, or of something like an address.
        let is_named =
            shape.ends_with(|letter: char| letter.is_alphanumeric() || "_:/".contains(letter));
        match from[..end].parse::<f64>() {
            Ok(figure) if !is_named => {
                let (factor, unit) = unit(&from[end..]);
                shape.push_str(if unit == 0 { "#" } else { "# s" });
                found.push(figure * factor);
                rest = &from[end + unit..];
            }
            _ => {
                shape.push_str(&from[..end]);
                rest = &from[end..];
            }
        }
    }
    shape.push_str(rest);
    (shape, found)
}

/// The factor of a unit of time that begins a text, and its length.
fn unit(text: &str) -> (f64, usize) {
    let spaces = text.len() - text.trim_start_matches(' ').len();
    let word: &str = text[spaces..]
        .split(|letter: char| !letter.is_alphabetic())
        .next()
        .unwrap_or_default();
    let factor = match word {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" | "us" => 1e-6,
        "ns" => 1e-9,
        _ => return (1.0, 0),
    };
    (factor, spaces + word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(verdict: &str, said: &str) -> Run {
        Run::read(&format!(
            "test a::b ... ok\ntest c ... {verdict}\n\nsuccesses:\n\n---- a::b stdout ----\n{said}\n\nsuccesses:\n    a::b\n"
        ))
    }

    #[test]
    fn figures_are_found() {
        let (shape, found) = figures("near1: 12.5 of 100, 3 ms, 2.5s, at 10:20.");
        assert_eq!(shape, "near1: # of #, # s, # s, at #:20.");
        assert_eq!(found, [12.5, 100.0, 0.003, 2.5, 10.0]);
    }

    #[test]
    fn runs_alike_are_not_told() {
        let runs = [
            run("ok", "late by 990 µs, 7 lost"),
            run("ok", "late by 1.05 ms, 7 lost"),
        ];
        assert_eq!(differences(&runs), "");
    }

    #[test]
    fn verdicts_and_figures_that_differ_are() {
        let runs = [
            run("ok", "late by 1ms, 7 lost"),
            run("FAILED", "late by 1.5ms, 7 lost"),
            run("ok", "late by 1ms, 7 lost"),
        ];
        assert_eq!(
            differences(&runs),
            "c: ok, FAILED, ok\na::b: 0.001 to 0.0015 in: late by # s, # lost\n"
        );
    }

    #[test]
    fn lines_of_one_run_only_are_left_out() {
        let runs = [
            run("ok", "3 lost"),
            run("ok", "4 lost\n9 lost"),
            run("ok", "3 lost"),
        ];
        assert_eq!(differences(&runs), "");
    }
}

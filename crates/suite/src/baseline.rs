//! What the laboratory's machines and tests took when it was recorded, to show which take longer
//! now.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::{git::git, ledger::Ledger};

/// Within the repository.
const FILE: &str = "crates/cli/tests/lab-baseline.json";
/// What is called longer: by a fifth, and by two seconds. Two runs on a busy host differ by less.
const RATIO: f64 = 1.2;
const MORE_S: f64 = 2.0;
/// So many tests say how fast this host is.
const TESTS_FOR_SPEED: usize = 20;
/// Shorter ones say little.
const SPEED_FROM_S: f64 = 1.0;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// That it was recorded at; empty before the first.
    #[serde(default)]
    commit: String,
    machines: BTreeMap<String, Machine>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Machine {
    cpu_s: f64,
    tests: BTreeMap<String, f64>,
}

impl Baseline {
    pub fn new(commit: String, ledger: &Ledger) -> Baseline {
        let machine = |machine: crate::ledger::Machine| Machine {
            cpu_s: tenths(machine.cpu_s),
            tests: (machine.cpu_s_of.into_iter())
                .map(|(test, cpu_s)| (test, tenths(cpu_s)))
                .collect(),
        };
        let machines = ledger.by_kind().machines;
        Baseline {
            commit,
            machines: (machines.into_iter())
                .map(|(name, of)| (name, machine(of)))
                .collect(),
        }
    }

    /// Keep what was known of tests that other rounds run.
    fn keep(&mut self, before: Self) {
        for (name, known) in before.machines {
            let machine = self.machines.entry(name).or_insert(Machine {
                cpu_s: known.cpu_s,
                tests: BTreeMap::new(),
            });
            for (test, cpu_s) in known.tests {
                machine.tests.entry(test).or_insert(cpu_s);
            }
        }
    }

    /// For readers: the machines and tests that take longer than at the baseline's commit.
    pub fn longer(&self, ledger: &Ledger) -> String {
        let now = ledger.by_kind();
        let mut pairs = Vec::new();
        let mut tests = Vec::new();
        for (name, machine) in &now.machines {
            let Some(before) = self.machines.get(name) else {
                continue;
            };
            pairs.push((name.clone(), before.cpu_s, machine.cpu_s));
            for (test, cpu_s) in &machine.cpu_s_of {
                if let Some(before) = before.tests.get(test) {
                    tests.push((format!("{test} ({name})"), *before, *cpu_s));
                }
            }
        }
        let speed = speed(&tests);
        pairs.extend(tests);
        self.told(speed, pairs)
    }

    fn told(&self, speed: f64, mut pairs: Vec<(String, f64, f64)>) -> String {
        let commit = self.commit.get(..8).unwrap_or(&self.commit);
        let mut told = String::new();
        if speed != 1.0 {
            let _ = writeln!(
                told,
                "\nTests take {speed:.2} times what they took at {commit} (median), here counted out."
            );
        }
        pairs.retain(|(_, before, now)| {
            let before = before * speed;
            *now > before * RATIO && *now > before + MORE_S
        });
        pairs.sort_by(|a, b| (b.2 - b.1 * speed).total_cmp(&(a.2 - a.1 * speed)));
        if !pairs.is_empty() {
            let _ = writeln!(told, "\nlonger than at {commit}, CPU s:");
        }
        for (what, before, now) in pairs {
            let _ = writeln!(told, "  {what}: {:.1}, was {before:.1}", now / speed);
        }
        told
    }
}

/// How much longer than before most tests take: the host's speed, if they are many.
fn speed(tests: &[(String, f64, f64)]) -> f64 {
    let long = tests
        .iter()
        .filter(|(_, before, _)| *before >= SPEED_FROM_S);
    let mut ratios: Vec<f64> = long.map(|(_, before, now)| now / before).collect();
    ratios.sort_by(f64::total_cmp);
    if ratios.len() < TESTS_FOR_SPEED {
        1.0
    } else {
        ratios[ratios.len() / 2]
    }
}

fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

/// What a ledger says, for readers. Its errors are told as well: it is a report only.
pub fn report(ledger: &Path) -> String {
    let Ok(text) = fs::read_to_string(ledger) else {
        return String::new();
    };
    let ledger = match Ledger::read(&text) {
        Ok(ledger) => ledger,
        Err(error) => return format!("\n{error:#}\n"),
    };
    let longer = match read() {
        Ok(Some(baseline)) => baseline.longer(&ledger),
        Ok(None) => String::new(),
        Err(error) => format!("\n{error:#}\n"),
    };
    ledger.table() + &longer
}

fn read() -> anyhow::Result<Option<Baseline>> {
    if !Path::new(FILE).exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(FILE).context(FILE)?;
    Ok(Some(serde_json::from_str(&text).context(FILE)?))
}

/// Make the ledger of the last run the baseline.
pub fn record(ledger: &PathBuf) -> anyhow::Result<()> {
    let text = fs::read_to_string(ledger)
        .with_context(|| format!("{} cannot be read; make test writes it", ledger.display()))?;
    let ledger = Ledger::read(&text)?;
    ensure!(
        !ledger.machines.is_empty(),
        "no machine was booted; run make test first"
    );
    let mut baseline = Baseline::new(git(&["rev-parse", "HEAD"])?, &ledger);
    if let Some(before) = read()? {
        baseline.keep(before);
    }
    let text = serde_json::to_string_pretty(&baseline).context("a baseline")?;
    fs::write(FILE, text + "\n").context(FILE)?;
    println!("{FILE} is what the last run took");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(tests: &[(&str, f64)]) -> Ledger {
        let line = |(test, cpu_s): &(&str, f64)| {
            format!(r#"{{"kind":"test","machine":"m, part 0","test":"{test}","cpu_s":{cpu_s}}}"#)
        };
        let mut lines: Vec<_> = tests.iter().map(line).collect();
        let sum: f64 = tests.iter().map(|(_, cpu_s)| cpu_s).sum();
        lines.push(format!(
            r#"{{"kind":"machine","machine":"m, part 0","cpu_s":{sum},"tests":{}}}"#,
            tests.len()
        ));
        Ledger::read(&lines.join("\n")).unwrap()
    }

    #[test]
    fn longer_is_a_fifth_and_two_seconds() {
        let before = ledger(&[("a", 10.0), ("b", 20.0), ("c", 1.0), ("d", 100.0)]);
        let before = Baseline::new("ad3081f5cc9d".into(), &before);
        let now = ledger(&[
            ("a", 12.9),
            ("b", 21.9),
            ("c", 2.9),
            ("d", 119.0),
            ("new", 60.0),
        ]);
        assert_eq!(
            before.longer(&now),
            "\nlonger than at ad3081f5, CPU s:\n  m: 216.7, was 131.0\n  a (m): 12.9, was 10.0\n"
        );
        assert_eq!(before.longer(&ledger(&[("a", 10.0)])), "");
    }

    #[test]
    fn tests_of_other_rounds_stay_known() {
        let baseline = |tests| Baseline::new("ad3081f5cc9d".into(), &ledger(tests));
        let mut now = baseline(&[("a", 1.0)]);
        now.keep(baseline(&[("a", 2.0), ("b", 3.0)]));
        let tests = &now.machines["m"].tests;
        assert_eq!((tests["a"], tests["b"]), (1.0, 3.0));
    }

    #[test]
    fn a_slow_host_is_counted_out() {
        let names: Vec<String> = (0..30).map(|at| format!("t{at}")).collect();
        let all = |cpu_s: f64, last: f64| {
            let mut tests: Vec<_> = names.iter().map(|name| (name.as_str(), cpu_s)).collect();
            tests[29].1 = last;
            ledger(&tests)
        };
        let before = Baseline::new("ad3081f5cc9d".into(), &all(10.0, 10.0));
        let told = before.longer(&all(20.0, 60.0));
        assert!(told.contains("2.00 times"), "{told}");
        assert!(
            told.ends_with("CPU s:\n  t29 (m): 30.0, was 10.0\n"),
            "{told}"
        );
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let baseline = Baseline::new("ad30".into(), &ledger(&[("a", 1.04)]));
        let text = serde_json::to_string(&baseline).unwrap();
        assert_eq!(
            text,
            r#"{"commit":"ad30","machines":{"m":{"cpu_s":1.0,"tests":{"a":1.0}}}}"#
        );
        let read: Baseline = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}

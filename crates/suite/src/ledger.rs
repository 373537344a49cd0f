//! The laboratory's ledger: what each machine and each test took, which its test program writes.

use std::{collections::BTreeMap, fmt::Write};

use anyhow::Context;
use serde::Deserialize;

/// Names the file to which the laboratory's program appends.
pub const LEDGER: &str = "TAKT_TEST_LEDGER";
/// Of each machine, so many of its longest tests are shown.
const LONGEST: usize = 5;
/// Begins the number of one of several boots in a machine's name.
const PART: &str = ", part ";

/// A line of the file.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line {
    /// One boot; `cpu_s` is the emulator's.
    Machine {
        machine: String,
        cpu_s: f64,
        tests: u64,
    },
    /// The time for which a machine was busy with a test.
    Test {
        machine: String,
        test: String,
        cpu_s: f64,
    },
    /// A test that ran `ran` of `of` cases.
    Part {
        test: String,
        what: String,
        ran: u64,
        of: u64,
    },
}

/// One machine's share.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Machine {
    pub cpu_s: f64,
    pub tests: u64,
    pub cpu_s_of: BTreeMap<String, f64>,
}

/// A file, by machine.
#[derive(Debug, Default, PartialEq)]
pub struct Ledger {
    pub machines: BTreeMap<String, Machine>,
    parts: Vec<String>,
}

impl Ledger {
    /// An error names the line.
    pub fn read(text: &str) -> anyhow::Result<Ledger> {
        let mut ledger = Ledger::default();
        for (at, line) in text.lines().enumerate() {
            let line = serde_json::from_str(line)
                .with_context(|| format!("line {} of the laboratory's ledger", at + 1))?;
            ledger.enter(line);
        }
        Ok(ledger)
    }

    fn enter(&mut self, line: Line) {
        match line {
            Line::Machine {
                machine,
                cpu_s,
                tests,
            } => {
                let machine = self.machines.entry(machine).or_default();
                machine.cpu_s += cpu_s;
                machine.tests += tests;
            }
            Line::Test {
                machine,
                test,
                cpu_s,
            } => {
                let machine = self.machines.entry(machine).or_default();
                *machine.cpu_s_of.entry(test).or_default() += cpu_s;
            }
            Line::Part {
                test,
                what,
                ran,
                of,
            } => self.parts.push(format!("{test}: {ran} of {of} {what}")),
        }
    }

    /// The same without numbers of boots: tests move between them.
    pub fn by_kind(&self) -> Ledger {
        let mut kinds = Ledger::default();
        for (name, machine) in &self.machines {
            let kind = name
                .split_once(PART)
                .map_or(name.as_str(), |(kind, _)| kind);
            let sum = kinds.machines.entry(kind.to_owned()).or_default();
            sum.cpu_s += machine.cpu_s;
            sum.tests += machine.tests;
            for (test, cpu_s) in &machine.cpu_s_of {
                *sum.cpu_s_of.entry(test.clone()).or_default() += cpu_s;
            }
        }
        kinds
    }

    /// For readers. Empty if no machine was booted.
    pub fn table(&self) -> String {
        let mut told = String::new();
        if !self.machines.is_empty() {
            let _ = writeln!(
                told,
                "\n{:44} {:>5} {:>7}  longest tests",
                "machine", "tests", "CPU s"
            );
        }
        for (name, machine) in &self.machines {
            let mut longest: Vec<_> = machine.cpu_s_of.iter().collect();
            longest.sort_by(|a, b| b.1.total_cmp(a.1));
            let longest = longest.iter().take(LONGEST);
            let longest: Vec<_> = longest
                .map(|(test, cpu_s)| format!("{test} {cpu_s:.1}"))
                .collect();
            let _ = writeln!(
                told,
                "{name:44} {:5} {:7.1}  {}",
                machine.tests,
                machine.cpu_s,
                longest.join(", ")
            );
        }
        if !self.parts.is_empty() {
            let _ = writeln!(told, "\nran in part (make test-long runs all):");
        }
        for part in &self.parts {
            let _ = writeln!(told, "  {part}");
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"kind":"test","machine":"kernel 7, part 0","test":"a::b","cpu_s":3.4}
{"kind":"test","machine":"kernel 7, part 0","test":"a::c","cpu_s":30}
{"kind":"machine","machine":"kernel 7, part 0","cpu_s":40.3,"wall_s":10.1,"tests":2}
{"kind":"test","machine":"kernel 7, part 1","test":"d::e","cpu_s":1.5}
{"kind":"machine","machine":"kernel 7, part 1","cpu_s":7,"wall_s":8.1,"tests":1}
{"kind":"part","test":"a::b","what":"instants of loading","ran":5,"of":20}
"#;

    #[test]
    fn machines_are_shown_with_their_longest_tests() {
        let told = Ledger::read(TEXT).unwrap().table();
        let lines: Vec<_> = told.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "kernel 7, part 0                                 2    40.3  a::c 30.0, a::b 3.4",
                "kernel 7, part 1                                 1     7.0  d::e 1.5",
                "",
                "ran in part (make test-long runs all):",
                "  a::b: 5 of 20 instants of loading",
            ]
        );
        assert_eq!(Ledger::default().table(), "");
    }

    #[test]
    fn parts_of_a_machine_are_added_up() {
        let kinds = Ledger::read(TEXT).unwrap().by_kind();
        let machine = &kinds.machines["kernel 7"];
        assert_eq!((machine.tests, machine.cpu_s), (3, 47.3));
        assert_eq!(machine.cpu_s_of.len(), 3);
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = Ledger::read("{\"kind\":\"moon\"}\n").unwrap_err();
        let told = format!("{error:#}");
        assert!(
            told.contains("line 1 of") && told.contains("moon"),
            "{told}"
        );
    }
}

//! What each machine and each test took, as lines of JSON: the suite's table is made of them.

use std::{env, fs::OpenOptions, io::Write};

use serde::Serialize;

/// Names the file; without it nothing is written.
const FILE: &str = "TAKT_TEST_LEDGER";

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Entry<'a> {
    Machine {
        machine: &'a str,
        /// The emulator's.
        cpu_s: f64,
        wall_s: f64,
        tests: usize,
    },
    Test {
        machine: &'a str,
        test: &'a str,
        /// For which the machine's processors worked, of its time.
        cpu_s: f64,
    },
    /// Cases that ran in part.
    Part {
        test: &'a str,
        what: &'a str,
        ran: usize,
        of: usize,
    },
}

impl<'a> Entry<'a> {
    /// Of a test's line `WHAT: RAN of ALL`.
    pub fn part(test: &'a str, line: &'a str) -> Self {
        let part = line.rsplit_once(": ").and_then(|(what, counts)| {
            let (ran, of) = counts.split_once(" of ")?;
            Some((what, ran.parse().ok()?, of.parse().ok()?))
        });
        let (what, ran, of) = part.expect("as rounds::in_turn prints it");
        Self::Part {
            test,
            what,
            ran,
            of,
        }
    }
}

pub fn write(entry: &Entry) {
    let Some(path) = env::var_os(FILE) else {
        return;
    };
    let mut line = serde_json::to_vec(entry).expect("plain values");
    line.push(b'\n');
    // One write: other boots append, too.
    let appended = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(&line));
    if let Err(error) = appended {
        panic!("{}: {error}", path.display());
    }
}
